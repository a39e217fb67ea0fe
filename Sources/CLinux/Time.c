#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

uint64_t talk_boottime_nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int talk_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int talk_getrandom(void *buffer, size_t count) {
  uint8_t *bytes = buffer;
  while (count > 0) {
    ssize_t got = getrandom(bytes, count, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    bytes += got;
    count -= (size_t)got;
  }
  return 0;
}
