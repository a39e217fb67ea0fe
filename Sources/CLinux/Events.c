#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

int talk_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

int talk_epoll_add(int epoll, int fd, uint64_t token) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = token};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int talk_epoll_remove(int epoll, int fd) {
  return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
}

int talk_epoll_wait(int epoll, uint64_t *tokens, int capacity, int timeout) {
  struct epoll_event events[32];
  if (capacity > 32) capacity = 32;
  int count = epoll_wait(epoll, events, capacity, timeout);
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count; i++) tokens[i] = events[i].data.u64;
  return count;
}

int talk_timerfd(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }

int talk_timerfd_set(int fd, uint64_t nanoseconds) {
  // time_t is signed: a far future is capped at 292 years.
  if (nanoseconds > INT64_MAX) nanoseconds = INT64_MAX;
  struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000u),
                                         .tv_nsec = (long)(nanoseconds % 1000000000u)}};
  return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void talk_name_thread(const char *name) { (void)pthread_setname_np(pthread_self(), name); }

int talk_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int talk_prioritise_thread(void) {
  struct sched_param parameter = {.sched_priority = sched_get_priority_min(SCHED_RR)};
  if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0) return 2;
  // PRIO_PROCESS with 0 means the calling thread on Linux.
  return setpriority(PRIO_PROCESS, 0, -10) == 0 ? 1 : 0;
}
