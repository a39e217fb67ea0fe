// speech: a WAV of real speech (48 kHz s16 mono) from Debian's asterisk-core-sounds-en-g722.
//
//   speech OUT.wav SECONDS [SEED]
//
// Spoken prompts one after another, no pause longer than PAUSE_MS, until at least SECONDS are full
// and the last prompt has ended. It starts and ends with sound. A seed gives the same file always,
// another seed other words. A 16 kHz recording has nothing above 8 kHz.
#include "g722.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  RATE = 48000,
  FRAME = G722_RATE / 100,
  QUIET = 250,          // the loudest sample of a frame that counts as pause
  PAUSE_MS = 120,
  SHORTEST_MS = 1500,   // prompts below are single words and digits
  PEAK = 20000,
  TAPS = 24,            // of the interpolation, on each side
};

static const char *prompts = "/usr/share/asterisk/sounds/en_US_f_Allison";

typedef struct {
  int16_t *samples;
  size_t count;
} Sound;

static void append(Sound *sound, const int16_t *samples, size_t count) {
  sound->samples = realloc(sound->samples, (sound->count + count + 1) * sizeof(int16_t));
  if (!sound->samples) abort();
  memcpy(sound->samples + sound->count, samples, count * sizeof(int16_t));
  sound->count += count;
}

static int loudest(const int16_t *samples, size_t count) {
  int peak = 0;
  for (size_t i = 0; i < count; i++) peak = abs(samples[i]) > peak ? abs(samples[i]) : peak;
  return peak;
}

static int is_prompt(const struct dirent *entry) {
  const char *end = strstr(entry->d_name, ".g722");
  return end && !end[5] && !strstr(entry->d_name, "tone") && !strstr(entry->d_name, "beep");
}

static Sound read_prompt(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", prompts, name);
  FILE *file = fopen(path, "r");
  static uint8_t bytes[1 << 20];
  size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (file) fclose(file);
  Sound sound = {malloc((count + 1) * G722_SAMPLES_PER_BYTE * sizeof(int16_t)),
                 count * G722_SAMPLES_PER_BYTE};
  if (!sound.samples) abort();
  g722_decode(bytes, count, sound.samples);
  return sound;
}

// Appends the prompt without the silence at its ends, made equally loud, pauses cut short.
static void append_spoken(Sound *all, Sound prompt) {
  size_t first = 0, last = prompt.count / FRAME, quiet = 0;
  while (first < last && loudest(prompt.samples + first * FRAME, FRAME) <= QUIET) first++;
  while (last > first && loudest(prompt.samples + (last - 1) * FRAME, FRAME) <= QUIET) last--;
  double gain = PEAK / (1.0 + loudest(prompt.samples, prompt.count));
  for (size_t frame = first; frame < last; frame++) {
    int16_t *samples = prompt.samples + frame * FRAME;
    quiet = loudest(samples, FRAME) <= QUIET ? quiet + 1 : 0;
    if (quiet > PAUSE_MS / 10) continue;
    for (int i = 0; i < FRAME; i++) samples[i] = (int16_t)(samples[i] * gain);
    append(all, samples, FRAME);
  }
}

static void append_pause(Sound *all) {
  static const int16_t silence[G722_RATE * PAUSE_MS / 1000];
  append(all, silence, sizeof silence / sizeof *silence);
}

// The sample at `index` of the tripled rate, by a Hann-windowed sinc.
static int16_t interpolate(const Sound *sound, size_t index) {
  double position = (double)index * G722_RATE / RATE, sum = 0;
  long centre = (long)position;
  for (long k = centre - TAPS + 1; k <= centre + TAPS; k++) {
    if (k < 0 || k >= (long)sound->count) continue;
    double x = position - (double)k, sinc = x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
    sum += sound->samples[k] * sinc * (0.5 + 0.5 * cos(M_PI * x / (TAPS + 1)));
  }
  return (int16_t)fmax(-32768, fmin(32767, round(sum)));
}

static void put(FILE *file, unsigned value, int bytes) {
  for (int i = 0; i < bytes; i++) fputc((int)(value >> (8 * i) & 255), file);
}

static int write_wav(const char *path, const Sound *sound) {
  FILE *file = fopen(path, "w");
  if (!file) return perror(path), 73;
  size_t count = sound->count * (RATE / G722_RATE);
  unsigned data_bytes = (unsigned)(count * sizeof(int16_t));
  fputs("RIFF", file), put(file, 36 + data_bytes, 4), fputs("WAVEfmt ", file);
  put(file, 16, 4), put(file, 1, 2), put(file, 1, 2), put(file, RATE, 4);
  put(file, RATE * sizeof(int16_t), 4), put(file, sizeof(int16_t), 2), put(file, 16, 2);
  fputs("data", file), put(file, data_bytes, 4);
  for (size_t i = 0; i < count; i++) put(file, (unsigned)interpolate(sound, i) & 0xFFFF, 2);
  return fclose(file) == 0 ? 0 : 74;
}

int main(int count, char **words) {
  if (count < 3) {
    fprintf(stderr, "speech OUT.wav SECONDS [SEED]\n");
    return 64;
  }
  size_t wanted = (size_t)(atof(words[2]) * G722_RATE);
  unsigned long random = count > 3 ? strtoul(words[3], NULL, 10) : 1;
  struct dirent **names;
  int total = scandir(prompts, &names, is_prompt, alphasort);
  if (total <= 0) {
    fprintf(stderr, "speech: no prompts in %s: run Tools/setup\n", prompts);
    return 66;
  }
  Sound all = {0};
  while (all.count < wanted) {
    // Knuth's MMIX generator; the upper bits are the random ones.
    random = random * 6364136223846793005u + 1442695040888963407u;
    Sound prompt = read_prompt(names[(random >> 33) % (unsigned)total]->d_name);
    if (prompt.count > G722_RATE * SHORTEST_MS / 1000) {
      if (all.count) append_pause(&all);
      append_spoken(&all, prompt);
    }
    free(prompt.samples);
  }
  return write_wav(words[1], &all);
}
