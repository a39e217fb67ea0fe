// microphone: a simulated sound card in front of PulseAudio's module-pipe-source.
//
//   microphone FIFO CONTROL LOG [PERIOD_MS [PPM]]
//
// Every period it writes one period of s16 mono 48 kHz, at the END of the time that the period
// covers, as a sound card does; silence unless told otherwise. PPM makes its clock fast (+) or
// slow (-) against CLOCK_MONOTONIC. Lines that it takes from the FIFO CONTROL:
//   play FILE [GAIN]   speak a 48 kHz s16 mono file (.wav or raw) from the next period on;
//                      logs "play T FILE", T the time at which its first sample is spoken
//   stop               silence
//   hang MS            the card stalls and loses what was spoken
// Logs "end" after a file's last sample, and "overrun" when a recorder was too slow.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { RATE = 48000, WAV_HEADER = 44, LATE_PERIODS = 8, MAX_PERIOD = RATE };

typedef struct {
  int16_t *samples;
  size_t count, next;
} Speech;

static FILE *log_file;
static Speech speech;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_until(double time) {
  struct timespec t = {(time_t)time, (long)((time - (double)(time_t)time) * 1e9)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void silence(void) {
  free(speech.samples);
  speech = (Speech){0};
}

static void play(const char *path, double gain, double start) {
  FILE *file = fopen(path, "r");
  if (!file) {
    fprintf(log_file, "cannot open %s\n", path);
    return;
  }
  silence();
  fseek(file, 0, SEEK_END);
  long size = ftell(file), header = strstr(path, ".wav") ? WAV_HEADER : 0;
  fseek(file, header, SEEK_SET);
  size_t room = size > header ? (size_t)(size - header) / sizeof(int16_t) : 0;
  speech.samples = malloc(room * sizeof(int16_t) + 1);
  if (speech.samples) speech.count = fread(speech.samples, sizeof(int16_t), room, file);
  fclose(file);
  for (size_t i = 0; gain != 1 && i < speech.count; i++)
    speech.samples[i] = (int16_t)(speech.samples[i] * gain);
  fprintf(log_file, "play %.6f %s\n", start, path);
}

// Fills the period with speech, and silence after it.
static void speak(int16_t *period, size_t count) {
  size_t left = speech.count - speech.next, taken = left < count ? left : count;
  memset(period, 0, count * sizeof(int16_t));
  if (!speech.samples) return;
  memcpy(period, speech.samples + speech.next, taken * sizeof(int16_t));
  speech.next += taken;
  if (speech.next == speech.count) {
    silence();
    fprintf(log_file, "end\n");
  }
}

// A pipe source reads only while somebody records. What it leaves must not wait for the next
// recorder, who would hear it late for good: a sound card overwrites it. A recorder that is merely
// late keeps LATE_PERIODS; once it missed more, one period at most waits for it.
static void discard_stale(int fifo, int bytes_per_period) {
  static int abandoned, overruns;
  int waiting = 0;
  ioctl(fifo, FIONREAD, &waiting);
  if (waiting == 0) abandoned = 0;
  if (!abandoned && waiting > LATE_PERIODS * bytes_per_period) {
    abandoned = 1;
    if (overruns++ < 100) fprintf(log_file, "overrun %.6f\n", now());
  }
  char waste[4096];
  while (abandoned && waiting > 0) {
    size_t wanted = (size_t)waiting < sizeof waste ? (size_t)waiting : sizeof waste;
    ssize_t got = read(fifo, waste, wanted);
    if (got <= 0) break;
    waiting -= (int)got;
  }
}

// Takes one command; returns how long the card hangs, in seconds.
static double obey(char *line, double next_period) {
  char *verb = strtok(line, " "), *argument = strtok(NULL, " "), *gain = strtok(NULL, " ");
  if (!verb) return 0;
  if (!strcmp(verb, "play") && argument) play(argument, gain ? atof(gain) : 1, next_period);
  else if (!strcmp(verb, "stop")) silence();
  else if (!strcmp(verb, "hang") && argument) return atof(argument) / 1000;
  else fprintf(log_file, "no command %s\n", verb);
  return 0;
}

static double obey_all(int control, double next_period) {
  static char line[4096];
  static size_t length;
  double hang = 0;
  char byte;
  while (read(control, &byte, 1) == 1) {
    if (byte != '\n') {
      if (length < sizeof line - 1) line[length++] = byte;
      continue;
    }
    line[length] = 0;
    length = 0;
    hang += obey(line, next_period);
  }
  return hang;
}

int main(int count, char **words) {
  if (count < 4) {
    fprintf(stderr, "microphone FIFO CONTROL LOG [PERIOD_MS [PPM]]\n");
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  double period_ms = count > 4 ? atof(words[4]) : 10, ppm = count > 5 ? atof(words[5]) : 0;
  size_t samples = (size_t)(period_ms * RATE / 1000);
  int fifo = open(words[1], O_RDWR | O_NONBLOCK), control = open(words[2], O_RDWR | O_NONBLOCK);
  log_file = fopen(words[3], "a");
  if (fifo < 0 || control < 0 || !log_file || samples == 0 || samples > MAX_PERIOD) {
    perror("microphone");
    return 74;
  }
  setlinebuf(log_file);
  struct sched_param priority = {.sched_priority = 4};
  sched_setscheduler(0, SCHED_FIFO, &priority);

  static int16_t period[MAX_PERIOD];
  double duration = (double)samples / RATE / (1 + ppm * 1e-6), start = now();
  for (uint64_t index = 0;; index++) {
    double end = start + (double)(index + 1) * duration;
    sleep_until(end);
    speak(period, samples);
    discard_stale(fifo, (int)(samples * sizeof(int16_t)));
    if (write(fifo, period, samples * sizeof(int16_t)) < 0) fprintf(log_file, "full\n");
    double hang = obey_all(control, end);
    if (hang > 0) {
      sleep_until(now() + hang);
      start = now() - (double)(index + 1) * duration;
    }
  }
}
