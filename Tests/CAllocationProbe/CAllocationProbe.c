#define _GNU_SOURCE
#include "CAllocationProbe.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TALK_SANITIZED 1
#endif
#endif

static __thread uint64_t allocations;
static __thread int in_callback;
static _Atomic uint64_t callbacks;
static _Atomic uint64_t callback_allocations;

uint64_t talk_probe_allocations(void) { return allocations; }
uint64_t talk_probe_callbacks(void) { return callbacks; }
uint64_t talk_probe_callback_allocations(void) { return callback_allocations; }

#ifdef TALK_SANITIZED

int talk_probe_works(void) { return 0; }

#else

int talk_probe_works(void) { return 1; }

// What glibc keeps for those who replace malloc.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void count(void) {
  allocations++;
  if (in_callback) atomic_fetch_add(&callback_allocations, 1);
}

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  count();
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  count();
  void *memory = __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *result = memory;
  return 0;
}

typedef struct pa_stream pa_stream;
typedef void (*request_callback)(pa_stream *, size_t, void *);

// One entry a stream and direction; more than the tests ever make.
struct hook {
  request_callback body;
  void *data;
};
static struct hook hooks[256];
static _Atomic int used;

static void run(pa_stream *stream, size_t bytes, void *data) {
  struct hook *hook = data;
  in_callback = 1;
  hook->body(stream, bytes, hook->data);
  in_callback = 0;
  atomic_fetch_add(&callbacks, 1);
}

static void install(const char *name, pa_stream *stream, request_callback body, void *data) {
  void (*real)(pa_stream *, request_callback, void *) =
      (void (*)(pa_stream *, request_callback, void *))dlsym(RTLD_NEXT, name);
  int index = body == NULL ? 256 : atomic_fetch_add(&used, 1);
  if (index >= 256) {
    real(stream, body, data);
    return;
  }
  hooks[index] = (struct hook){body, data};
  real(stream, run, &hooks[index]);
}

void pa_stream_set_read_callback(pa_stream *stream, request_callback body, void *data) {
  install("pa_stream_set_read_callback", stream, body, data);
}

void pa_stream_set_write_callback(pa_stream *stream, request_callback body, void *data) {
  install("pa_stream_set_write_callback", stream, body, data);
}

#endif
