// sniff: every UDP datagram on an interface, a line each.
//
//   sniff INTERFACE FILE SECONDS           (0 seconds: until SIGTERM or SIGINT)
//
// A line: TIME in|out host|group SOURCE PORT DESTINATION PORT PAYLOAD
// TIME in seconds (CLOCK_MONOTONIC); `group` = multicast or broadcast on the link; PAYLOAD in hex,
// "-" if empty. Fragments of IP are left out: nothing of ours is that long.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FRAME = 70000, PROTOCOL_UDP = 17, UDP_HEADER = 8 };

static volatile sig_atomic_t must_end;

static void on_signal(int number) {
  (void)number;
  must_end = 1;
}

static double seconds_of(struct timespec t) { return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return seconds_of(t);
}

// The kernel stamps arrival with the wall clock; ours is the monotonic one.
static double arrival(struct msghdr *message) {
  double offset = now(CLOCK_MONOTONIC) - now(CLOCK_REALTIME);
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
    struct timespec stamp;
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
    memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
    return seconds_of(stamp) + offset;
  }
  return now(CLOCK_MONOTONIC);
}

static unsigned word_at(const uint8_t *bytes) { return (unsigned)bytes[0] << 8 | bytes[1]; }

static void print_datagram(FILE *out, double time, const struct sockaddr_ll *link, int family,
                           const uint8_t *source, const uint8_t *destination, const uint8_t *udp,
                           size_t length) {
  char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
  inet_ntop(family, source, from, sizeof from);
  inet_ntop(family, destination, to, sizeof to);
  int is_group = destination[0] == 0xFF || (family == AF_INET && (destination[0] & 0xF0) == 0xE0) ||
                 link->sll_pkttype == PACKET_BROADCAST || link->sll_pkttype == PACKET_MULTICAST ||
                 (family == AF_INET && destination[3] == 0xFF);
  fprintf(out, "%.6f %s %s %s %u %s %u ", time,
          link->sll_pkttype == PACKET_OUTGOING ? "out" : "in", is_group ? "group" : "host",
          from, word_at(udp), to, word_at(udp + 2));
  if (length == UDP_HEADER) fputc('-', out);
  for (size_t i = UDP_HEADER; i < length; i++) fprintf(out, "%02x", udp[i]);
  fputc('\n', out);
}

static void take(FILE *out, double time, const struct sockaddr_ll *link, const uint8_t *packet,
                 size_t length) {
  int protocol = ntohs(link->sll_protocol);
  if (protocol == ETH_P_IP && length >= 20) {
    size_t header = (packet[0] & 15u) * 4, total = word_at(packet + 2);
    int is_fragment = (word_at(packet + 6) & 0x3FFF) != 0;
    int is_whole = !is_fragment && total <= length && total >= header + UDP_HEADER;
    if (packet[9] != PROTOCOL_UDP || !is_whole) return;
    print_datagram(out, time, link, AF_INET, packet + 12, packet + 16, packet + header,
                   total - header);
  } else if (protocol == ETH_P_IPV6 && length >= 40) {
    size_t total = word_at(packet + 4);
    if (packet[6] != PROTOCOL_UDP || total + 40 > length || total < UDP_HEADER) return;
    print_datagram(out, time, link, AF_INET6, packet + 8, packet + 24, packet + 40, total);
  }
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "sniff INTERFACE FILE SECONDS\n");
    return 64;
  }
  int socket_file = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0), room = 16 << 20, yes = 1;
  struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                .sll_protocol = htons(ETH_P_ALL),
                                .sll_ifindex = (int)if_nametoindex(words[1])};
  setsockopt(socket_file, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  setsockopt(socket_file, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
  FILE *out = fopen(words[2], "w");
  if (!out || bind(socket_file, (struct sockaddr *)&address, sizeof address))
    return perror("sniff"), 71;
  signal(SIGTERM, on_signal);
  signal(SIGINT, on_signal);
  double seconds = atof(words[3]), end = seconds > 0 ? now(CLOCK_MONOTONIC) + seconds : 0;
  static uint8_t packet[MAX_FRAME];
  while (!must_end && (end == 0 || now(CLOCK_MONOTONIC) < end)) {
    struct pollfd wait = {socket_file, POLLIN, 0};
    if (poll(&wait, 1, 100) <= 0) {
      fflush(out);
      continue;
    }
    struct sockaddr_ll link;
    char control[256];
    struct iovec whole = {packet, sizeof packet};
    struct msghdr message = {.msg_name = &link, .msg_namelen = sizeof link, .msg_iov = &whole,
                             .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t length = recvmsg(socket_file, &message, 0);
    if (length > 0) take(out, arrival(&message), &link, packet, (size_t)length);
  }
  return fclose(out) == 0 ? 0 : 74;
}
