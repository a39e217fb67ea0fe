#define _GNU_SOURCE
#include "CLinux.h"
#include "Addresses.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

// Room for packet information of both families and a receive time.
#define CONTROL_SIZE 128

struct talk_receive_batch {
  unsigned count;
  size_t size;
  struct mmsghdr *headers;
  struct iovec *vectors;
  struct sockaddr_storage *names;
  struct talk_received *infos;
  uint8_t *control;
  uint8_t *bytes;
};

talk_receive_batch *talk_receive_batch_make(unsigned count, size_t size) {
  talk_receive_batch *batch = calloc(1, sizeof *batch);
  if (!batch) return NULL;
  batch->count = count;
  batch->size = size;
  batch->headers = calloc(count, sizeof *batch->headers);
  batch->vectors = calloc(count, sizeof *batch->vectors);
  batch->names = calloc(count, sizeof *batch->names);
  batch->infos = calloc(count, sizeof *batch->infos);
  batch->control = calloc(count, CONTROL_SIZE);
  batch->bytes = calloc(count, size);
  if (batch->headers && batch->vectors && batch->names && batch->infos && batch->control &&
      batch->bytes)
    return batch;
  talk_receive_batch_free(batch);
  return NULL;
}

void talk_receive_batch_free(talk_receive_batch *batch) {
  free(batch->headers);
  free(batch->vectors);
  free(batch->names);
  free(batch->infos);
  free(batch->control);
  free(batch->bytes);
  free(batch);
}

static uint64_t nanoseconds(const struct timespec *t) {
  return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

// The kernel stamps in wall-clock time: the datagram's age by that clock is taken off the boot
// time. An age that cannot be (the wall clock was set meanwhile) counts as none.
static uint64_t on_boot_clock(uint64_t stamp, uint64_t wall, uint64_t boot) {
  if (stamp == 0 || stamp > wall || wall - stamp > 1000000000u) return boot;
  return boot - (wall - stamp);
}

static void read_control(struct msghdr *header, struct talk_received *info, uint64_t *stamp) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo packet;
      memcpy(&packet, CMSG_DATA(c), sizeof packet);
      info->interface_index = packet.ipi6_ifindex;
      uint32_t v4;
      memcpy(&v4, packet.ipi6_addr.s6_addr + 12, 4);
      info->many = IN6_IS_ADDR_V4MAPPED(&packet.ipi6_addr)
                       ? (IN_MULTICAST(ntohl(v4)) || v4 == INADDR_BROADCAST)
                       : IN6_IS_ADDR_MULTICAST(&packet.ipi6_addr);
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo packet;
      memcpy(&packet, CMSG_DATA(c), sizeof packet);
      info->interface_index = (uint32_t)packet.ipi_ifindex;
      info->many = IN_MULTICAST(ntohl(packet.ipi_addr.s_addr)) ||
                   packet.ipi_addr.s_addr == INADDR_BROADCAST;
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec t;
      memcpy(&t, CMSG_DATA(c), sizeof t);
      *stamp = nanoseconds(&t);
    }
  }
}

int talk_receive(int fd, talk_receive_batch *batch) {
  for (unsigned i = 0; i < batch->count; i++) {
    batch->vectors[i] = (struct iovec){batch->bytes + i * batch->size, batch->size};
    batch->headers[i].msg_hdr =
        (struct msghdr){.msg_name = &batch->names[i],
                        .msg_namelen = sizeof batch->names[i],
                        .msg_iov = &batch->vectors[i],
                        .msg_iovlen = 1,
                        .msg_control = batch->control + i * CONTROL_SIZE,
                        .msg_controllen = CONTROL_SIZE};
  }
  int count;
  do count = recvmmsg(fd, batch->headers, batch->count, MSG_DONTWAIT, NULL);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  uint64_t now = nanoseconds(&wall), boot = talk_boottime_nanoseconds();
  for (int i = 0; i < count; i++) {
    struct talk_received *info = &batch->infos[i];
    struct msghdr *header = &batch->headers[i].msg_hdr;
    *info = (struct talk_received){.count = batch->headers[i].msg_len,
                                   .truncated = (header->msg_flags & MSG_TRUNC) != 0};
    talk_from_sockaddr(&batch->names[i], &info->source);
    uint64_t stamp = 0;
    read_control(header, info, &stamp);
    info->time = on_boot_clock(stamp, now, boot);
  }
  return count;
}

void *talk_received_bytes(talk_receive_batch *batch, unsigned index) {
  return batch->bytes + index * batch->size;
}

const struct talk_received *talk_received_info(talk_receive_batch *batch, unsigned index) {
  return &batch->infos[index];
}

struct talk_send_batch {
  unsigned count;
  int ipv4;
  struct mmsghdr *headers;
  struct iovec *vectors;
  struct sockaddr_storage *names;
  uint8_t *control;
};

talk_send_batch *talk_send_batch_make(unsigned count, int ipv4) {
  talk_send_batch *batch = calloc(1, sizeof *batch);
  if (!batch) return NULL;
  batch->count = count;
  batch->ipv4 = ipv4;
  batch->headers = calloc(count, sizeof *batch->headers);
  batch->vectors = calloc(count, sizeof *batch->vectors);
  batch->names = calloc(count, sizeof *batch->names);
  batch->control = calloc(count, CONTROL_SIZE);
  if (batch->headers && batch->vectors && batch->names && batch->control) return batch;
  talk_send_batch_free(batch);
  return NULL;
}

void talk_send_batch_free(talk_send_batch *batch) {
  free(batch->headers);
  free(batch->vectors);
  free(batch->names);
  free(batch->control);
  free(batch);
}

// Packet information that names the outgoing interface. For IPv4 destinations the level is
// IPPROTO_IP on both kinds of socket (udp_sendmsg takes it on AF_INET6 sockets as well).
static void put_interface(struct msghdr *header, uint8_t *control, int v4, uint32_t index,
                          uint32_t source4) {
  memset(control, 0, CONTROL_SIZE);
  header->msg_control = control;
  header->msg_controllen =
      v4 ? CMSG_SPACE(sizeof(struct in_pktinfo)) : CMSG_SPACE(sizeof(struct in6_pktinfo));
  struct cmsghdr *c = CMSG_FIRSTHDR(header);
  if (v4) {
    struct in_pktinfo packet = {.ipi_ifindex = (int)index,
                                .ipi_spec_dst.s_addr = htonl(source4)};
    c->cmsg_level = IPPROTO_IP;
    c->cmsg_type = IP_PKTINFO;
    c->cmsg_len = CMSG_LEN(sizeof packet);
    memcpy(CMSG_DATA(c), &packet, sizeof packet);
  } else {
    struct in6_pktinfo packet = {.ipi6_ifindex = index};
    c->cmsg_level = IPPROTO_IPV6;
    c->cmsg_type = IPV6_PKTINFO;
    c->cmsg_len = CMSG_LEN(sizeof packet);
    memcpy(CMSG_DATA(c), &packet, sizeof packet);
  }
}

int talk_send_stage(talk_send_batch *batch, unsigned index, const void *bytes, size_t count,
                    const struct talk_endpoint *to, uint32_t interface_index, uint32_t source4) {
  socklen_t length = talk_to_sockaddr(to, batch->ipv4, &batch->names[index]);
  if (length == 0) return -1;
  batch->vectors[index] = (struct iovec){(void *)bytes, count};
  struct msghdr *header = &batch->headers[index].msg_hdr;
  *header = (struct msghdr){.msg_name = &batch->names[index],
                            .msg_namelen = length,
                            .msg_iov = &batch->vectors[index],
                            .msg_iovlen = 1};
  if (interface_index != 0)
    put_interface(header, batch->control + index * CONTROL_SIZE, talk_is_ipv4(to),
                  interface_index, source4);
  return 0;
}

int talk_send(int fd, talk_send_batch *batch, unsigned index, unsigned count) {
  int sent;
  do sent = sendmmsg(fd, batch->headers + index, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent;
}

void talk_wait_writable(int fd, int timeout) {
  struct pollfd poller = {.fd = fd, .events = POLLOUT};
  poll(&poller, 1, timeout);
}
