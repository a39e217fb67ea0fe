#define _GNU_SOURCE
#include "CTestSupport.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static __thread unsigned long allocations;

unsigned long test_allocations(void) { return allocations; }

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
int test_counts_allocations(void) { return 0; }
#else
int test_counts_allocations(void) { return 1; }

// The executable's malloc stands before the C library's, which stays reachable by these names.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t count) {
  allocations++;
  return __libc_malloc(count);
}

void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t count) {
  allocations++;
  return __libc_realloc(old, count);
}
#endif

int test_enter_new_network(void) {
  if (unshare(CLONE_NEWNET) != 0) return -1;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  int result = ioctl(fd, SIOCSIFFLAGS, &request);
  close(fd);
  return result;
}

int test_enter_network_of(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = setns(fd, CLONE_NEWNET);
  close(fd);
  return result;
}
