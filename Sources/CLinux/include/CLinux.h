// What Swift's Glibc module does not show of Linux: epoll, timerfd, eventfd, getrandom,
// recvmmsg and sendmmsg with packet information, multicast options, netlink, interface lists.
// Every name is prefixed with talk_, so that nothing can clash. Functions return -1 and set errno
// on failure unless they say otherwise.
#ifndef TALKAROUND_CLINUX_H
#define TALKAROUND_CLINUX_H
#include <stddef.h>
#include <stdint.h>

/// CLOCK_BOOTTIME in nanoseconds (clock_gettime(2)): it goes on while the machine sleeps.
uint64_t talk_boottime_nanoseconds(void);

/// An eventfd(2), non-blocking and closed on exec; -1 and errno on failure.
int talk_eventfd(void);

/// Fills the buffer from getrandom(2); 0, or -1 and errno on failure.
int talk_getrandom(void *buffer, size_t count);

/// A file without a name that lives in memory while it is open (memfd_create(2)), closed on exec;
/// -1 and errno on failure.
int talk_memory_file(const char *name);

// --- Waiting: Events.c ---

/// A new epoll(7) set.
int talk_epoll(void);

/// Adds a file descriptor to be watched for input, level-triggered; `token` comes back from
/// talk_epoll_wait.
int talk_epoll_add(int epoll, int fd, uint64_t token);

/// Takes a file descriptor out of the set.
int talk_epoll_remove(int epoll, int fd);

/// Waits at most `timeout` milliseconds (-1: without end) and writes the tokens that are ready;
/// returns how many, 0 on a timeout or a signal.
int talk_epoll_wait(int epoll, uint64_t *tokens, int capacity, int timeout);

/// A timerfd_create(2) on CLOCK_BOOTTIME, non-blocking.
int talk_timerfd(void);

/// Lets the timer fire once at `nanoseconds` on CLOCK_BOOTTIME; 0 disarms it.
int talk_timerfd_set(int fd, uint64_t nanoseconds);

/// Names the calling thread, for top(1) and debuggers; at most 15 bytes.
void talk_name_thread(const char *name);

/// Gives the calling thread the lowest real-time priority (SCHED_RR, not inherited by children),
/// else a nice value of -10; returns 2 for real time, 1 for nice, 0 for neither.
int talk_prioritise_thread(void);

// --- Datagrams: Datagrams.c ---

/// An address, a port and the interface index of a link-local address. The address is IPv6 in two
/// halves read big-endian; IPv4 is ::ffff:a.b.c.d.
struct talk_endpoint {
  uint64_t high;
  uint64_t low;
  uint32_t scope;
  uint16_t port;
};

/// One datagram received.
struct talk_received {
  /// Who sent it; scope is set for link-local addresses alone.
  struct talk_endpoint source;
  /// When the kernel took it, on CLOCK_BOOTTIME in nanoseconds.
  uint64_t time;
  /// The interface it came in by.
  uint32_t interface_index;
  /// How many bytes; more than the buffer when `truncated`.
  uint32_t count;
  /// Non-zero when the datagram was longer than the buffer.
  uint8_t truncated;
  /// Non-zero when it was sent to a multicast or broadcast address.
  uint8_t many;
};

/// Memory for one recvmmsg(2): opaque, taken once.
typedef struct talk_receive_batch talk_receive_batch;
/// Memory for one sendmmsg(2): opaque, taken once.
typedef struct talk_send_batch talk_send_batch;

/// A batch of `count` buffers of `size` bytes; NULL without memory.
talk_receive_batch *talk_receive_batch_make(unsigned count, size_t size);
/// Frees the batch.
void talk_receive_batch_free(talk_receive_batch *batch);
/// Receives without waiting; returns how many datagrams, 0 when none wait.
int talk_receive(int fd, talk_receive_batch *batch);
/// The bytes of datagram `index`.
void *talk_received_bytes(talk_receive_batch *batch, unsigned index);
/// What is known about datagram `index`.
const struct talk_received *talk_received_info(talk_receive_batch *batch, unsigned index);

/// A batch of at most `count` datagrams; `ipv4` for a socket of family AF_INET.
talk_send_batch *talk_send_batch_make(unsigned count, int ipv4);
/// Frees the batch.
void talk_send_batch_free(talk_send_batch *batch);
/// Puts a datagram into the batch at `index`, not copied; with `interface_index` it leaves by that
/// interface, an IPv4 one from the address `source4` (big-endian number; 0: the kernel chooses).
/// Returns 0, or -1 for an IPv6 destination on an IPv4 socket.
int talk_send_stage(talk_send_batch *batch, unsigned index, const void *bytes, size_t count,
                    const struct talk_endpoint *to, uint32_t interface_index, uint32_t source4);
/// sendmmsg(2) of `count` datagrams from `index` on; returns how many left, or -1.
int talk_send(int fd, talk_send_batch *batch, unsigned index, unsigned count);
/// Waits until the socket takes data again, at most `timeout` milliseconds.
void talk_wait_writable(int fd, int timeout);

// --- Sockets: Sockets.c ---

/// What talk_udp_socket tells about the socket it made.
struct talk_udp_made {
  /// The descriptor, or -1.
  int fd;
  /// Non-zero when there is no IPv6 and the socket is IPv4 alone.
  int ipv4;
};

/// A non-blocking UDP socket, dual-stack (IPv4 alone where IPv6 is absent, or with `ipv4`), not yet
/// bound, with big buffers, DSCP EF, packet information and receive times.
struct talk_udp_made talk_udp_socket(int ipv4);
/// Binds the socket to a port on all addresses, sharing it (SO_REUSEADDR) with sockets that are
/// bound to a group or a broadcast address.
int talk_udp_bind(int fd, int ipv4, uint16_t port);
/// 1 when another program has a unicast socket on the port, 0 when not.
int talk_udp_port_taken(uint16_t port);
/// The port the socket is bound to.
int talk_udp_port(int fd);
/// An abstract unix(7) socket that marks the port as ours in this network namespace; it fails with
/// EADDRINUSE when another node has it.
int talk_port_mark(uint16_t port);
/// A receive-only socket bound to one IPv4 group or broadcast address (big-endian number), so that
/// it takes no unicast from others on the port.
int talk_udp_group4(uint32_t address, uint16_t port);
/// A receive-only socket bound to one IPv6 link-local group on one interface.
int talk_udp_group6(uint64_t high, uint64_t low, uint16_t port, uint32_t interface_index);
/// Joins (or leaves) an IPv4 group on an interface.
int talk_join4(int fd, uint32_t group, uint32_t interface_index, int leave);
/// Joins (or leaves) an IPv6 group on an interface.
int talk_join6(int fd, uint64_t high, uint64_t low, uint32_t interface_index, int leave);

// --- Interfaces: Interfaces.c ---

/// Bits of talk_address.flags.
enum {
  TALK_UP = 1,
  TALK_LOOPBACK = 2,
  TALK_MULTICAST = 4,
  TALK_BROADCAST = 8,
  TALK_POINT_TO_POINT = 16,
  /// A bridge, or an interface that is a port of another.
  TALK_BRIDGED = 32,
};

/// One address of one interface.
struct talk_address {
  char name[16];
  uint32_t index;
  uint32_t flags;
  /// As in talk_endpoint.
  uint64_t high;
  uint64_t low;
  /// Length of the prefix in bits: of 32 for IPv4, of 128 for IPv6.
  uint32_t prefix;
};

/// Writes the addresses of all interfaces (getifaddrs(3)); returns how many, at most `capacity`.
int talk_addresses(struct talk_address *addresses, int capacity);
/// One interface, with an address or without.
struct talk_interface {
  char name[16];
  uint32_t index;
  /// As in talk_address, but TALK_UP says only that it is switched on.
  uint32_t flags;
  /// Non-zero when it has a carrier: a cable, or an access point.
  uint8_t carrier;
  /// Non-zero for Wi-Fi.
  uint8_t wireless;
};

/// Writes all interfaces (if_nameindex(3), netdevice(7)); returns how many, at most `capacity`.
int talk_interfaces(struct talk_interface *interfaces, int capacity);
/// Writes the address that a datagram to `to` would leave from; sends nothing. 0, or -1 and errno
/// where there is no way.
int talk_route_source(const struct talk_endpoint *to, struct talk_endpoint *source);
/// A netlink(7) route socket that reports changes of links and addresses, non-blocking.
int talk_netlink(void);
/// Reads and drops what waits on a netlink socket; 1 when there was anything, 0 when not.
int talk_netlink_drain(int fd);
/// Resolves a name or a literal (getaddrinfo(3)); `numeric` forbids DNS. Returns how many
/// endpoints, at most `capacity`; a negative number is an EAI_ code.
int talk_resolve(const char *host, uint16_t port, int numeric, struct talk_endpoint *endpoints,
                 int capacity);

#endif
