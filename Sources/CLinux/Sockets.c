#define _GNU_SOURCE
#include "Addresses.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void set(int fd, int level, int name, int value) {
  // Best effort: an option that a kernel lacks costs quality, never the socket.
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void buffers(int fd, int bytes) {
  set(fd, SOL_SOCKET, SO_RCVBUF, bytes);
  set(fd, SOL_SOCKET, SO_SNDBUF, bytes);
  // Beyond net.core.[rw]mem_max for those who may.
  set(fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes);
  set(fd, SOL_SOCKET, SO_SNDBUFFORCE, bytes);
}

static void reporting(int fd, int ipv4) {
  set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  if (ipv4) set(fd, IPPROTO_IP, IP_PKTINFO, 1);
  else set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
}

static int fail(int fd) {
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

static int open_socket(int family) {
  return socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
}

struct talk_udp_made talk_udp_socket(int ipv4) {
  struct talk_udp_made made = {open_socket(ipv4 ? AF_INET : AF_INET6), ipv4};
  if (made.fd >= 0 && !ipv4) {
    // A kernel with IPv6 off by sysctl still makes the socket; it then serves IPv4 alone.
    int both = 0;
    if (setsockopt(made.fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both) != 0) {
      made.fd = fail(made.fd);
      return made;
    }
  } else if (made.fd < 0 && errno == EAFNOSUPPORT) {
    made = (struct talk_udp_made){open_socket(AF_INET), 1};
  }
  if (made.fd < 0) return made;
  buffers(made.fd, 4 << 20);
  reporting(made.fd, made.ipv4);
  set(made.fd, SOL_SOCKET, SO_BROADCAST, 1);
  // DSCP 46, expedited forwarding (RFC 3246); priority 6 is voice for Wi-Fi's WMM.
  set(made.fd, IPPROTO_IP, IP_TOS, 46 << 2);
  set(made.fd, SOL_SOCKET, SO_PRIORITY, 6);
  set(made.fd, IPPROTO_IP, IP_MULTICAST_TTL, 1);
  set(made.fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
  if (!made.ipv4) {
    set(made.fd, IPPROTO_IPV6, IPV6_TCLASS, 46 << 2);
    set(made.fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1);
    set(made.fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
  }
  return made;
}

int talk_udp_bind(int fd, int ipv4, uint16_t port) {
  struct talk_endpoint any = {.low = ipv4 ? 0xffff00000000u : 0, .port = port};
  struct sockaddr_storage address;
  socklen_t length = talk_to_sockaddr(&any, ipv4, &address);
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  return bind(fd, (struct sockaddr *)&address, length);
}

static int loopback_taken(int family, const struct talk_endpoint *loopback) {
  int fd = open_socket(family);
  if (fd < 0) return 0;
  struct sockaddr_storage address;
  if (family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  socklen_t length = talk_to_sockaddr(loopback, family == AF_INET, &address);
  int taken = bind(fd, (struct sockaddr *)&address, length) != 0 && errno == EADDRINUSE;
  close(fd);
  return taken;
}

int talk_udp_port_taken(uint16_t port) {
  // Without SO_REUSEADDR a bind to the loopback address fails beside any socket on all addresses,
  // and does not beside one that is bound to a group.
  struct talk_endpoint v4 = {.low = 0xffff7f000001u, .port = port};
  struct talk_endpoint v6 = {.low = 1, .port = port};
  return loopback_taken(AF_INET, &v4) || loopback_taken(AF_INET6, &v6);
}

int talk_udp_port(int fd) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return -1;
  struct talk_endpoint endpoint;
  talk_from_sockaddr(&address, &endpoint);
  return endpoint.port;
}

int talk_port_mark(uint16_t port) {
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int count = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "talkaround-udp-%u",
                       (unsigned)port);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)count);
  return bind(fd, (struct sockaddr *)&address, length) == 0 ? fd : fail(fd);
}

int talk_udp_group4(uint32_t group, uint16_t port) {
  int fd = open_socket(AF_INET);
  if (fd < 0) return -1;
  reporting(fd, 1);
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  struct talk_endpoint endpoint = {.low = 0xffff00000000u | group, .port = port};
  struct sockaddr_storage address;
  socklen_t length = talk_to_sockaddr(&endpoint, 1, &address);
  return bind(fd, (struct sockaddr *)&address, length) == 0 ? fd : fail(fd);
}

int talk_udp_group6(uint64_t high, uint64_t low, uint16_t port, uint32_t interface_index) {
  int fd = open_socket(AF_INET6);
  if (fd < 0) return -1;
  reporting(fd, 0);
  set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  struct talk_endpoint endpoint = {high, low, interface_index, port};
  struct sockaddr_storage address;
  socklen_t length = talk_to_sockaddr(&endpoint, 0, &address);
  return bind(fd, (struct sockaddr *)&address, length) == 0 ? fd : fail(fd);
}

int talk_join4(int fd, uint32_t group, uint32_t interface_index, int leave) {
  struct ip_mreqn request = {.imr_multiaddr.s_addr = htonl(group),
                             .imr_ifindex = (int)interface_index};
  return setsockopt(fd, IPPROTO_IP, leave ? IP_DROP_MEMBERSHIP : IP_ADD_MEMBERSHIP, &request,
                    sizeof request);
}

int talk_join6(int fd, uint64_t high, uint64_t low, uint32_t interface_index, int leave) {
  struct ipv6_mreq request = {.ipv6mr_interface = interface_index};
  talk_to_in6(high, low, &request.ipv6mr_multiaddr);
  return setsockopt(fd, IPPROTO_IPV6, leave ? IPV6_LEAVE_GROUP : IPV6_JOIN_GROUP, &request,
                    sizeof request);
}
