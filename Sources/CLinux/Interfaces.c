#define _GNU_SOURCE
#include "Addresses.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

static uint32_t prefix_of(const struct ifaddrs *entry) {
  if (!entry->ifa_netmask) return 0;
  struct talk_endpoint mask;
  talk_from_sockaddr(entry->ifa_netmask, &mask);
  if (entry->ifa_addr->sa_family == AF_INET)
    return (uint32_t)__builtin_popcountll(mask.low & 0xffffffffu);
  return (uint32_t)(__builtin_popcountll(mask.high) + __builtin_popcountll(mask.low));
}

int talk_addresses(struct talk_address *addresses, int capacity) {
  struct ifaddrs *list;
  if (getifaddrs(&list) != 0) return -1;
  int count = 0;
  for (struct ifaddrs *entry = list; entry && count < capacity; entry = entry->ifa_next) {
    if (!entry->ifa_addr) continue;
    sa_family_t family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    struct talk_address *out = &addresses[count];
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", entry->ifa_name);
    out->index = if_nametoindex(out->name);
    if (out->index == 0) continue;
    unsigned flags = entry->ifa_flags;
    out->flags = ((flags & IFF_UP) && (flags & IFF_RUNNING) ? TALK_UP : 0) |
                 (flags & IFF_LOOPBACK ? TALK_LOOPBACK : 0) |
                 (flags & IFF_MULTICAST ? TALK_MULTICAST : 0) |
                 (flags & IFF_BROADCAST ? TALK_BROADCAST : 0) |
                 (flags & IFF_POINTOPOINT ? TALK_POINT_TO_POINT : 0);
    struct talk_endpoint endpoint;
    talk_from_sockaddr(entry->ifa_addr, &endpoint);
    out->high = endpoint.high;
    out->low = endpoint.low;
    out->prefix = prefix_of(entry);
    count++;
  }
  freeifaddrs(list);
  return count;
}

int talk_netlink(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK,
                                .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

int talk_netlink_drain(int fd) {
  char buffer[8192];
  int any = 0;
  // ENOBUFS says that messages were lost: that is a change too.
  while (recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) >= 0 || errno == ENOBUFS) any = 1;
  return any;
}

int talk_resolve(const char *host, uint16_t port, int numeric, struct talk_endpoint *endpoints,
                 int capacity) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC,
                           .ai_socktype = SOCK_DGRAM,
                           .ai_flags = numeric ? AI_NUMERICHOST : 0};
  struct addrinfo *list;
  int failure = getaddrinfo(host, NULL, &hints, &list);
  if (failure != 0) return failure < 0 ? failure : -failure;
  int count = 0;
  for (struct addrinfo *entry = list; entry && count < capacity; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    talk_from_sockaddr(entry->ai_addr, &endpoints[count]);
    endpoints[count++].port = port;
  }
  freeaddrinfo(list);
  return count;
}
