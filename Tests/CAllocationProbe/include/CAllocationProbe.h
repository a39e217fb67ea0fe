// For tests alone: counts the calls of malloc, calloc, realloc and the aligned ones on the calling
// thread, by standing in for them in the test program, and those made inside the data callbacks of
// PulseAudio streams, by standing in for pa_stream_set_read_callback and _write_callback.
#ifndef TALKAROUND_CALLOCATIONPROBE_H
#define TALKAROUND_CALLOCATIONPROBE_H
#include <stdint.h>

/// False under a sanitizer, which needs malloc for itself.
int talk_probe_works(void);

/// How many allocations this thread has made so far.
uint64_t talk_probe_allocations(void);

/// How many data callbacks have run in all threads, and how many allocations were made in them.
uint64_t talk_probe_callbacks(void);
uint64_t talk_probe_callback_allocations(void);

#endif
