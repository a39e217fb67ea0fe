// recorder: records a PulseAudio source, with the absolute time of its first sample.
//
//   recorder SOURCE OUT.raw SECONDS        (0 seconds: until SIGTERM or SIGINT)
//
// Writes s16 mono 48 kHz to OUT.raw, and to OUT.raw.t "T …", T the CLOCK_MONOTONIC seconds of
// sample 0, with figures of how sure that is. Holes are written as silence.
//
// A null sink hands its monitor a whole block at the block's START, on an exact monotonic clock.
// So each delivery gives one estimate of T: its arrival less the duration of what came before.
// Arrivals are late, never early, hence the 10th percentile. The recorder asks for no latency: the
// least that any client asks for is the sink's block size, so asking would change the measured.
#define _GNU_SOURCE
#include <pulse/pulseaudio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RATE = 48000 };

typedef struct {
  double time;
  size_t first;
} Delivery;

static const char *source;
static FILE *out;
static double stop_at;
static pa_mainloop *loop;
static Delivery *deliveries;
static size_t delivery_count, delivery_room, sample_count;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note_delivery(double time, size_t first) {
  if (delivery_count == delivery_room) {
    delivery_room = delivery_room ? delivery_room * 2 : 4096;
    deliveries = realloc(deliveries, delivery_room * sizeof *deliveries);
    if (!deliveries) abort();
  }
  deliveries[delivery_count++] = (Delivery){time, first};
}

static void write_silence(size_t bytes) {
  fprintf(stderr, "recorder: a hole of %zu samples\n", bytes / sizeof(int16_t));
  while (bytes-- > 0) fputc(0, out);
}

static void on_samples(pa_stream *stream, size_t available, void *unused) {
  (void)available, (void)unused;
  double arrival = now();
  size_t first = sample_count, bytes;
  const void *data;
  while (pa_stream_readable_size(stream) > 0) {
    if (pa_stream_peek(stream, &data, &bytes) < 0 || bytes == 0) break;
    if (data) fwrite(data, 1, bytes, out);
    else write_silence(bytes);
    sample_count += bytes / sizeof(int16_t);
    pa_stream_drop(stream);
  }
  if (sample_count > first) note_delivery(arrival, first);
  if (stop_at > 0 && arrival > stop_at) pa_mainloop_quit(loop, 0);
}

static void on_stream_state(pa_stream *stream, void *unused) {
  (void)unused;
  if (pa_stream_get_state(stream) != PA_STREAM_FAILED) return;
  fprintf(stderr, "recorder: no source %s\n", source);
  pa_mainloop_quit(loop, 69);
}

static void start_stream(pa_context *context) {
  pa_sample_spec spec = {PA_SAMPLE_S16LE, RATE, 1};
  pa_stream *stream = pa_stream_new(context, "recorder", &spec, NULL);
  pa_stream_set_read_callback(stream, on_samples, NULL);
  pa_stream_set_state_callback(stream, on_stream_state, NULL);
  pa_buffer_attr any = {(uint32_t)-1, (uint32_t)-1, (uint32_t)-1, (uint32_t)-1, (uint32_t)-1};
  any.fragsize = RATE * sizeof(int16_t) * 4;
  pa_stream_connect_record(stream, source, &any, PA_STREAM_DONT_MOVE);
}

static void on_context_state(pa_context *context, void *unused) {
  (void)unused;
  switch (pa_context_get_state(context)) {
    case PA_CONTEXT_READY: start_stream(context); break;
    case PA_CONTEXT_FAILED:
    case PA_CONTEXT_TERMINATED:
      fprintf(stderr, "recorder: the sound server is gone\n");
      pa_mainloop_quit(loop, 69);
      break;
    default: break;
  }
}

static void on_signal(pa_mainloop_api *api, pa_signal_event *event, int number, void *unused) {
  (void)api, (void)event, (void)number, (void)unused;
  pa_mainloop_quit(loop, 0);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The first second is left out: the stream settles. So is what came on the heels of another
// delivery: it is the second half of one block.
static void write_time(const char *raw_path) {
  double *estimates = calloc(delivery_count + 1, sizeof *estimates);
  if (!estimates) abort();
  size_t count = 0;
  for (size_t i = 1; i < delivery_count; i++) {
    double time = deliveries[i].time;
    if (time - deliveries[0].time < 1 || time - deliveries[i - 1].time < 0.0008) continue;
    estimates[count++] = time - (double)deliveries[i].first / RATE;
  }
  if (count == 0 && delivery_count > 0) estimates[count++] = deliveries[0].time;
  qsort(estimates, count, sizeof *estimates, ascending);
  char path[4096];
  snprintf(path, sizeof path, "%s.t", raw_path);
  FILE *file = fopen(path, "w");
  if (!file) return perror(path);
  double start = count ? estimates[count / 10] : 0;
  double middle = count ? (estimates[count / 2] - start) * 1000 : 0;
  double spread = count ? (estimates[count - 1] - estimates[0]) * 1000 : 0;
  fprintf(file, "%.6f p10-p50_ms %.3f spread_ms %.3f deliveries %zu samples %zu\n", start, middle,
          spread, delivery_count, sample_count);
  fclose(file);
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "recorder SOURCE OUT.raw SECONDS\n");
    return 64;
  }
  source = words[1];
  out = fopen(words[2], "w");
  if (!out) return perror(words[2]), 73;
  double seconds = atof(words[3]);
  stop_at = seconds > 0 ? now() + seconds : 0;
  struct sched_param priority = {.sched_priority = 3};
  sched_setscheduler(0, SCHED_FIFO, &priority);

  loop = pa_mainloop_new();
  pa_signal_init(pa_mainloop_get_api(loop));
  pa_signal_new(SIGTERM, on_signal, NULL);
  pa_signal_new(SIGINT, on_signal, NULL);
  pa_context *context = pa_context_new(pa_mainloop_get_api(loop), "recorder");
  pa_context_set_state_callback(context, on_context_state, NULL);
  pa_context_connect(context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL);
  int result = 0;
  pa_mainloop_run(loop, &result);
  fclose(out);
  write_time(words[2]);
  return result;
}
