#define _GNU_SOURCE
#include "Addresses.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t prefix_of(const struct ifaddrs *entry) {
  if (!entry->ifa_netmask) return 0;
  struct talk_endpoint mask;
  talk_from_sockaddr(entry->ifa_netmask, &mask);
  if (entry->ifa_addr->sa_family == AF_INET)
    return (uint32_t)__builtin_popcountll(mask.low & 0xffffffffu);
  return (uint32_t)(__builtin_popcountll(mask.high) + __builtin_popcountll(mask.low));
}

// Which interfaces are bridges or ports, by index.
struct bridged {
  int count;
  uint32_t indices[256];
};

static int is_bridge(const struct rtattr *info) {
  int length = (int)RTA_PAYLOAD(info);
  for (const struct rtattr *a = RTA_DATA(info); RTA_OK(a, length); a = RTA_NEXT(a, length))
    if (a->rta_type == IFLA_INFO_KIND)
      return RTA_PAYLOAD(a) >= 7 && memcmp(RTA_DATA(a), "bridge", 7) == 0;
  return 0;
}

static void note_link(const struct nlmsghdr *message, struct bridged *out) {
  const struct ifinfomsg *link = NLMSG_DATA(message);
  int length = (int)IFLA_PAYLOAD(message);
  for (const struct rtattr *a = IFLA_RTA(link); RTA_OK(a, length); a = RTA_NEXT(a, length)) {
    if (a->rta_type != IFLA_MASTER && !(a->rta_type == IFLA_LINKINFO && is_bridge(a))) continue;
    if (out->count < 256) out->indices[out->count++] = (uint32_t)link->ifi_index;
    return;
  }
}

// Asks the kernel for all links (rtnetlink(7)); sysfs would show those of the namespace in which it
// was mounted. A failure leaves the list empty: it serves ranking alone.
static void list_bridged(struct bridged *out) {
  out->count = 0;
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return;
  struct {
    struct nlmsghdr header;
    struct ifinfomsg link;
  } request = {.header = {.nlmsg_len = sizeof request,
                          .nlmsg_type = RTM_GETLINK,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
  char buffer[32768] __attribute__((aligned(8)));
  int done = send(fd, &request, sizeof request, 0) < 0;
  while (!done) {
    ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    int length = (int)got;
    for (struct nlmsghdr *m = (struct nlmsghdr *)buffer; NLMSG_OK(m, length);
         m = NLMSG_NEXT(m, length)) {
      if (m->nlmsg_type == RTM_NEWLINK) note_link(m, out);
      else done = 1;
    }
  }
  close(fd);
}

static uint32_t is_listed(const struct bridged *list, uint32_t index) {
  for (int i = 0; i < list->count; i++)
    if (list->indices[i] == index) return 1;
  return 0;
}

int talk_addresses(struct talk_address *addresses, int capacity) {
  struct ifaddrs *list;
  if (getifaddrs(&list) != 0) return -1;
  struct bridged bridged;
  list_bridged(&bridged);
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
                 (flags & IFF_POINTOPOINT ? TALK_POINT_TO_POINT : 0) |
                 (is_listed(&bridged, out->index) ? TALK_BRIDGED : 0);
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

// The directory that the kernel has for an interface with a radio.
static uint8_t has_radio(const char *name) {
  char path[64];
  struct stat info;
  snprintf(path, sizeof path, "/sys/class/net/%s/phy80211", name);
  return stat(path, &info) == 0;
}

int talk_interfaces(struct talk_interface *interfaces, int capacity) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct if_nameindex *list = if_nameindex();
  struct bridged bridged;
  list_bridged(&bridged);
  int count = 0;
  for (struct if_nameindex *entry = list; entry && entry->if_index && count < capacity; entry++) {
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", entry->if_name);
    // One that went in the meantime.
    if (ioctl(fd, SIOCGIFFLAGS, &request) != 0) continue;
    int flags = request.ifr_flags;
    struct talk_interface *out = &interfaces[count++];
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", entry->if_name);
    out->index = entry->if_index;
    out->flags = (flags & IFF_UP ? TALK_UP : 0) | (flags & IFF_LOOPBACK ? TALK_LOOPBACK : 0) |
                 (flags & IFF_MULTICAST ? TALK_MULTICAST : 0) |
                 (flags & IFF_BROADCAST ? TALK_BROADCAST : 0) |
                 (flags & IFF_POINTOPOINT ? TALK_POINT_TO_POINT : 0) |
                 (is_listed(&bridged, out->index) ? TALK_BRIDGED : 0);
    out->carrier = (flags & IFF_RUNNING) != 0;
    out->wireless = has_radio(out->name);
  }
  if (list) if_freenameindex(list);
  close(fd);
  return count;
}

int talk_route_source(const struct talk_endpoint *to, struct talk_endpoint *source) {
  int ipv4 = talk_is_ipv4(to);
  int fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct sockaddr_storage address;
  socklen_t length = talk_to_sockaddr(to, ipv4, &address);
  int failed = connect(fd, (struct sockaddr *)&address, length);
  length = sizeof address;
  if (!failed) failed = getsockname(fd, (struct sockaddr *)&address, &length);
  int reason = errno;
  close(fd);
  errno = reason;
  if (!failed) talk_from_sockaddr(&address, source);
  return failed;
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
