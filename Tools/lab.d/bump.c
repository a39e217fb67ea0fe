// bump: a link with faults, in user space, since the kernel may come without sch_netem.
//
//   host eth0 <-- veth --> DEVICE (not in the bridge) <-- bump --> TAP (in the bridge)
//
//   bump DEVICE TAP RULES COUNTS
//
// RULES is read again at SIGHUP, one rule a line, the first that fits counts, none = as it is:
//   out|in  *|mcast|MAC  KEY=VALUE …
// `out` leaves the host (MAC = destination), `in` reaches it (MAC = source: covers multicast too).
// Keys: delay=ms jitter=ms dist=uniform|normal|pareto, keep=1 (jitter never reorders), loss=%,
// gap=p,q (Gilbert: % a frame of entering and of leaving a gap where all is lost), dup=%,
// reorder=% (the frame skips the delay), corrupt=% (one bit beyond the headers), rate=kbit/s,
// queue=ms (drop-tail), udp=1 (only UDP that is not mDNS), seed=N.
// SIGUSR1 writes counts to COUNTS; SIGTERM ends.
#define _GNU_SOURCE
#include "bump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FRAME = 70000, BATCH = 64, FIRST_PAYLOAD_BYTE = 42, FRAME_OVERHEAD = 24 };

typedef struct {
  int64_t due;
  uint64_t sequence;
  Direction direction;
  size_t length;
  uint8_t *bytes;
} Frame;

// Frames that wait, as a heap: the earliest is first.
static Frame *heap;
static size_t heap_count, heap_room;
static int device, tap;
static volatile sig_atomic_t must_load = 1, must_count, must_end;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int earlier(const Frame *a, const Frame *b) {
  return a->due < b->due || (a->due == b->due && a->sequence < b->sequence);
}

static void swap(size_t a, size_t b) {
  Frame frame = heap[a];
  heap[a] = heap[b];
  heap[b] = frame;
}

static void heap_push(Frame frame) {
  if (heap_count == heap_room) {
    heap_room = heap_room ? heap_room * 2 : 256;
    heap = realloc(heap, heap_room * sizeof *heap);
    if (!heap) abort();
  }
  size_t i = heap_count++;
  heap[i] = frame;
  for (; i && earlier(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2) swap(i, (i - 1) / 2);
}

static Frame heap_pop(void) {
  Frame first = heap[0];
  heap[0] = heap[--heap_count];
  for (size_t i = 0;;) {
    size_t least = i, left = 2 * i + 1, right = left + 1;
    if (left < heap_count && earlier(&heap[left], &heap[least])) least = left;
    if (right < heap_count && earlier(&heap[right], &heap[least])) least = right;
    if (least == i) return first;
    swap(i, least);
    i = least;
  }
}

static void deliver(Direction direction, const uint8_t *bytes, size_t length) {
  // A link that is down takes nothing: that is the cable's fault, not ours.
  if (write(direction == OUT ? tap : device, bytes, length) < 0 && errno != EAGAIN &&
      errno != EIO && errno != ENETDOWN && errno != ENOBUFS)
    perror("bump: write");
}

static void deliver_at(int64_t due, Direction direction, const uint8_t *bytes, size_t length) {
  static uint64_t sequence;
  if (due <= now()) return deliver(direction, bytes, length);
  uint8_t *copy = malloc(length);
  if (!copy) abort();
  memcpy(copy, bytes, length);
  heap_push((Frame){due, sequence++, direction, length, copy});
}

static int is_lost(Rule *rule) {
  if (rule->gap_enter > 0) {
    if (rule->in_gap) rule->in_gap = !rule_chance(rule, rule->gap_leave);
    else rule->in_gap = rule_chance(rule, rule->gap_enter);
    if (rule->in_gap) return 1;
  }
  return rule_chance(rule, rule->loss);
}

// When the frame has left a link of the rule's rate; -1: its queue is full.
static int64_t departure(Rule *rule, int64_t arrival, size_t length) {
  if (rule->rate_kbit <= 0) return arrival;
  int64_t start = rule->link_free_at > arrival ? rule->link_free_at : arrival;
  if ((double)(start - arrival) > rule->queue_ms * 1e6) return -1;
  rule->link_free_at = start + (int64_t)((double)(length + FRAME_OVERHEAD) * 8e6 / rule->rate_kbit);
  return rule->link_free_at;
}

static void corrupt(Rule *rule, uint8_t *bytes, size_t length) {
  size_t room = length - FIRST_PAYLOAD_BYTE;
  bytes[FIRST_PAYLOAD_BYTE + (size_t)(rule_random(rule) * (double)room)] ^=
      (uint8_t)(1 << (int)(rule_random(rule) * 8));
  rule->corrupted++;
}

static void handle(Direction direction, uint8_t *bytes, size_t length) {
  Rule *rule = rule_for(direction, bytes, length);
  if (!rule) return deliver(direction, bytes, length);
  rule->frames++;
  if (is_lost(rule)) {
    rule->lost++;
    return;
  }
  if (length > FIRST_PAYLOAD_BYTE && rule_chance(rule, rule->corrupt)) corrupt(rule, bytes, length);
  int64_t due = departure(rule, now(), length);
  if (due < 0) {
    rule->overflowed++;
    return;
  }
  if (rule_chance(rule, rule->reorder)) rule->reordered++;
  else due += rule_delay(rule);
  if (rule->keep_order && due < rule->last_departure) due = rule->last_departure;
  if (due > rule->last_departure) rule->last_departure = due;
  deliver_at(due, direction, bytes, length);
  if (rule_chance(rule, rule->duplicate)) {
    rule->duplicated++;
    deliver_at(due + 1000, direction, bytes, length);
  }
}

static void deliver_due(void) {
  int64_t time = now();
  while (heap_count && heap[0].due <= time) {
    Frame frame = heap_pop();
    deliver(frame.direction, frame.bytes, frame.length);
    free(frame.bytes);
  }
}

static void take_frames(void) {
  static uint8_t bytes[MAX_FRAME];
  ssize_t length;
  for (int i = 0; i < BATCH && (length = recv(device, bytes, sizeof bytes, 0)) > 0; i++)
    if (length >= ETH_HLEN) handle(OUT, bytes, (size_t)length);
  for (int i = 0; i < BATCH && (length = read(tap, bytes, sizeof bytes)) > 0; i++)
    if (length >= ETH_HLEN) handle(IN, bytes, (size_t)length);
}

static void wait_for_frames(void) {
  struct timespec timeout, *limit = NULL;
  if (heap_count) {
    int64_t left = heap[0].due - now();
    if (left < 0) left = 0;
    timeout = (struct timespec){left / 1000000000, left % 1000000000};
    limit = &timeout;
  }
  struct pollfd both[2] = {{device, POLLIN, 0}, {tap, POLLIN, 0}};
  if (ppoll(both, 2, limit, NULL) > 0) take_frames();
}

static int open_tap(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  return file >= 0 && ioctl(file, TUNSETIFF, &request) == 0 ? file : -1;
}

static int open_device(const char *name) {
  int file = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1, room = 8 << 20;
  struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                .sll_protocol = htons(ETH_P_ALL),
                                .sll_ifindex = (int)if_nametoindex(name)};
  struct packet_mreq everything = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
  setsockopt(file, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes);
  setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  setsockopt(file, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  setsockopt(file, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof everything);
  return bind(file, (struct sockaddr *)&address, sizeof address) == 0 ? file : -1;
}

static void on_signal(int number) {
  if (number == SIGHUP) must_load = 1;
  else if (number == SIGUSR1) must_count = 1;
  else must_end = 1;
}

static void write_counts(const char *path) {
  char temporary[4096];
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE *file = fopen(temporary, "w");
  if (!file) return perror(path);
  rules_print_counts(file);
  fprintf(file, "waiting %zu\n", heap_count);
  fclose(file);
  rename(temporary, path);
}

int main(int count, char **words) {
  if (count != 5) {
    fprintf(stderr, "bump DEVICE TAP RULES COUNTS\n");
    return 64;
  }
  tap = open_tap(words[2]);
  device = open_device(words[1]);
  if (tap < 0 || device < 0) return perror("bump"), 71;
  struct sigaction action = {.sa_handler = on_signal};
  int signals[4] = {SIGHUP, SIGUSR1, SIGTERM, SIGINT};
  for (int i = 0; i < 4; i++) sigaction(signals[i], &action, NULL);
  // 20 ms of delay come out as 20.1: real-time priority and no timer slack.
  struct sched_param priority = {.sched_priority = 10};
  sched_setscheduler(0, SCHED_FIFO, &priority);
  prctl(PR_SET_TIMERSLACK, 1000UL);

  while (!must_end) {
    if (must_load) must_load = 0, rules_load(words[3]);
    if (must_count) must_count = 0, write_counts(words[4]);
    deliver_due();
    wait_for_frames();
  }
  return 0;
}
