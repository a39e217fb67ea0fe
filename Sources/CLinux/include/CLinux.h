// What Swift's Glibc module does not show of Linux: epoll, timerfd, eventfd, getrandom,
// recvmmsg and sendmmsg. Every name is prefixed with talk_, so that nothing can clash.
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

#endif
