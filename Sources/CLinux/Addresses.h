// Between struct talk_endpoint and socket addresses; for the C files of this target alone.
#ifndef TALKAROUND_ADDRESSES_H
#define TALKAROUND_ADDRESSES_H
#include "CLinux.h"

#include <endian.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static inline int talk_is_ipv4(const struct talk_endpoint *e) {
  return e->high == 0 && e->low >> 32 == 0xffff;
}

static inline void talk_from_in6(const struct in6_addr *in, uint64_t *high, uint64_t *low) {
  uint64_t half[2];
  memcpy(half, in, sizeof half);
  *high = be64toh(half[0]);
  *low = be64toh(half[1]);
}

static inline void talk_to_in6(uint64_t high, uint64_t low, struct in6_addr *out) {
  uint64_t half[2] = {htobe64(high), htobe64(low)};
  memcpy(out, half, sizeof half);
}

// Leaves zeros for a family that is neither IPv4 nor IPv6.
static inline void talk_from_sockaddr(const void *address, struct talk_endpoint *out) {
  sa_family_t family = ((const struct sockaddr *)address)->sa_family;
  memset(out, 0, sizeof *out);
  if (family == AF_INET) {
    const struct sockaddr_in *in = address;
    out->low = 0xffff00000000u | ntohl(in->sin_addr.s_addr);
    out->port = ntohs(in->sin_port);
  } else if (family == AF_INET6) {
    const struct sockaddr_in6 *in = address;
    talk_from_in6(&in->sin6_addr, &out->high, &out->low);
    out->port = ntohs(in->sin6_port);
    if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) out->scope = in->sin6_scope_id;
  }
}

// Returns the length, 0 when an IPv4 socket cannot send there.
static inline socklen_t talk_to_sockaddr(const struct talk_endpoint *e, int ipv4,
                                         struct sockaddr_storage *out) {
  if (ipv4) {
    if (!talk_is_ipv4(e)) return 0;
    struct sockaddr_in *in = (struct sockaddr_in *)out;
    memset(in, 0, sizeof *in);
    in->sin_family = AF_INET;
    in->sin_port = htons(e->port);
    in->sin_addr.s_addr = htonl((uint32_t)e->low);
    return sizeof *in;
  }
  struct sockaddr_in6 *in = (struct sockaddr_in6 *)out;
  memset(in, 0, sizeof *in);
  in->sin6_family = AF_INET6;
  in->sin6_port = htons(e->port);
  in->sin6_scope_id = e->scope;
  talk_to_in6(e->high, e->low, &in->sin6_addr);
  return sizeof *in;
}

#endif
