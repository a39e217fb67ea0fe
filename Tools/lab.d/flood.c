// flood: hostile datagrams for one port, and a count of what is answered.
//
//   flood ADDRESS PORT COUNT SEED RATE [CAPTURE]
//
// Sends COUNT datagrams, RATE a second, and prints "sent N … answered N". Without CAPTURE all are
// random. With it (a file of sniff.c, taken at the attacked host) a third each is: random; a
// captured datagram to PORT cut short; one with one to three bits flipped. Ends by itself.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_DATAGRAM = 1500,
  MAX_SAMPLES = 4096,
  BATCH = 50,
  HANDSHAKE_LAST_TYPE = 3,
  MAC2_START = 176,   // of a handshake: the cookie's MAC, which a node without load need not read
};

typedef struct {
  uint8_t bytes[MAX_DATAGRAM];
  size_t length;
} Datagram;

static Datagram samples[MAX_SAMPLES];
static size_t sample_count;
static uint64_t state;

static uint64_t random_number(void) {   // xorshift64*
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545F4914F6CDD1Du >> 16;
}

static size_t below(size_t limit) { return (size_t)(random_number() % limit); }

static void load_samples(const char *path, unsigned port) {
  FILE *file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(66);
  }
  static char line[2 * MAX_DATAGRAM + 512], hex[2 * MAX_DATAGRAM + 1];
  while (sample_count < MAX_SAMPLES && fgets(line, sizeof line, file)) {
    unsigned to_port;
    if (sscanf(line, "%*s in host %*s %*s %*s %u %3000s", &to_port, hex) != 2) continue;
    if (to_port != port || hex[0] == '-') continue;
    Datagram *sample = &samples[sample_count++];
    sample->length = strlen(hex) / 2;
    for (size_t i = 0; i < sample->length; i++) sscanf(hex + 2 * i, "%2hhx", &sample->bytes[i]);
  }
  fclose(file);
}

// Half of them begin like one of ours, so that they come further than the first check.
static void make_random(Datagram *out) {
  static const uint8_t types[] = {1, 2, 3, 4, 5, 0x10, 0x11};
  static const size_t lengths[] = {192, 192, 192, 72, 256, 96, 1200};
  out->length = below(MAX_DATAGRAM);
  for (size_t i = 0; i < MAX_DATAGRAM; i++) out->bytes[i] = (uint8_t)random_number();
  if (random_number() & 1) return;
  size_t kind = below(sizeof types);
  out->length = lengths[kind];
  memcpy(out->bytes, (uint8_t[4]){types[kind], 1, 0, 0}, 4);
}

static void make_truncated(Datagram *out) {
  *out = samples[below(sample_count)];
  out->length = below(out->length);
}

// A flip in what a node need not read would be an exact replay, which it may answer.
static void make_flipped(Datagram *out) {
  *out = samples[below(sample_count)];
  size_t room = out->length;
  if (out->bytes[0] <= HANDSHAKE_LAST_TYPE && room > MAC2_START) room = MAC2_START;
  size_t first = below(room * 8);
  out->bytes[first / 8] ^= (uint8_t)(1 << first % 8);
  for (size_t more = below(3); more > 0; more--) {
    size_t bit = below(room * 8);
    if (bit != first) out->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

static void pace(struct timespec *next, long batch_nanoseconds) {
  next->tv_nsec += batch_nanoseconds;
  while (next->tv_nsec >= 1000000000) next->tv_nsec -= 1000000000, next->tv_sec++;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

static unsigned long count_answers(int file) {
  static uint8_t answer[MAX_DATAGRAM];
  unsigned long answers = 0;
  while (recv(file, answer, sizeof answer, MSG_DONTWAIT) >= 0) answers++;
  return answers;
}

int main(int count, char **words) {
  if (count < 6) {
    fprintf(stderr, "flood ADDRESS PORT COUNT SEED RATE [CAPTURE]\n");
    return 64;
  }
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST}, *to;
  if (getaddrinfo(words[1], words[2], &hints, &to)) {
    fprintf(stderr, "flood: no address %s\n", words[1]);
    return 64;
  }
  unsigned long wanted = strtoul(words[3], NULL, 10), sent = 0, answered = 0, kinds[3] = {0};
  state = strtoul(words[4], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
  long batch_nanoseconds = (long)(1e9 * BATCH / atof(words[5]));
  if (count > 6) {
    load_samples(words[6], (unsigned)atoi(words[2]));
    if (sample_count == 0) {
      fprintf(stderr, "flood: no datagram to port %s in %s\n", words[2], words[6]);
      return 66;
    }
  }
  int file = socket(to->ai_family, SOCK_DGRAM, 0);
  static Datagram datagram;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (unsigned long i = 0; i < wanted; i++) {
    size_t kind = sample_count ? i % 3 : 0;
    if (kind == 0) make_random(&datagram);
    else if (kind == 1) make_truncated(&datagram);
    else make_flipped(&datagram);
    kinds[kind]++;
    if (sendto(file, datagram.bytes, datagram.length, 0, to->ai_addr, to->ai_addrlen) >= 0) sent++;
    if (i % BATCH == BATCH - 1) {
      answered += count_answers(file);
      pace(&next, batch_nanoseconds);
    }
  }
  sleep(1);
  answered += count_answers(file);
  printf("sent %lu random %lu truncated %lu flipped %lu samples %zu answered %lu\n", sent, kinds[0],
         kinds[1], kinds[2], sample_count, answered);
  return 0;
}
