// ITU-T G.722, clause 4 (SB-ADPCM decoder, mode 1). Names of blocks are the Recommendation's.
#include "g722.h"

#include <string.h>

typedef struct {
  int s, sp, sz;          // predictor: signal, its pole part, its zero part
  int r[3], p[3], a[3];   // pole section
  int d[7], b[7];         // zero section
  int nb, det;            // log and linear quantizer scale
} Band;

static const int qmf[12] = {3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11};
static const int inverse_log[32] = {
    2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834,
    2896, 2960, 3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008};

// The lower band: 6 bits to the listener, 4 of them adapt.
static const int low_6bit[64] = {
    -136,   -136,   -136,   -136,   -24808, -21904, -19008, -16704, -14984, -13512, -12280,
    -11192, -10232, -9360,  -8576,  -7856,  -7192,  -6576,  -6000,  -5456,  -4944,  -4464,
    -4008,  -3576,  -3168,  -2776,  -2400,  -2032,  -1688,  -1360,  -1040,  -728,   24808,
    21904,  19008,  16704,  14984,  13512,  12280,  11192,  10232,  9360,   8576,   7856,
    7192,   6576,   6000,   5456,   4944,   4464,   4008,   3576,   3168,   2776,   2400,
    2032,   1688,   1360,   1040,   728,    432,    136,    -432,   -136};
static const int low_4bit[16] = {0,     -20456, -12896, -8968, -6288, -4240, -2584, -1200,
                                 20456, 12896,  8968,   6288,  4240,  2584,  1200,  0};
static const int low_index[16] = {0, 7, 6, 5, 4, 3, 2, 1, 7, 6, 5, 4, 3, 2, 1, 0};
static const int low_step[8] = {-60, -30, 58, 172, 334, 538, 1198, 3042};

// The upper band: 2 bits.
static const int high_2bit[4] = {-7408, -1616, 7408, 1616};
static const int high_index[4] = {2, 1, 2, 1};
static const int high_step[3] = {0, -214, 798};

static int clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

static int saturate(int value) { return clamp(value, -32768, 32767); }

// LOGSCL/LOGSCH and SCALEL/SCALEH: the quantizer's scale follows the signal.
static void adapt_scale(Band *band, int step, int limit, int shift) {
  band->nb = clamp(((band->nb * 127) >> 7) + step, 0, limit);
  int mantissa = inverse_log[(band->nb >> 6) & 31], exponent = shift - (band->nb >> 11);
  band->det = (exponent < 0 ? mantissa << -exponent : mantissa >> exponent) * 4;
}

// UPPOL2 and UPPOL1
static void adapt_poles(Band *band, int adapted[3]) {
  int same1 = (band->p[0] >> 15) == (band->p[1] >> 15);
  int same2 = (band->p[0] >> 15) == (band->p[2] >> 15);
  int doubled = saturate(band->a[1] * 4), term = same1 ? -doubled : doubled;
  if (term > 32767) term = 32767;
  adapted[2] = (same2 ? 128 : -128) + (term >> 7) + ((band->a[2] * 32512) >> 15);
  adapted[2] = clamp(adapted[2], -12288, 12288);
  int limit = saturate(15360 - adapted[2]);
  adapted[1] = saturate((same1 ? 192 : -192) + ((band->a[1] * 32640) >> 15));
  adapted[1] = clamp(adapted[1], -limit, limit);
}

// UPZERO
static void adapt_zeros(Band *band, int adapted[7]) {
  int step = band->d[0] == 0 ? 0 : 128, sign = band->d[0] >> 15;
  for (int i = 1; i < 7; i++) {
    int change = (band->d[i] >> 15) == sign ? step : -step;
    adapted[i] = saturate(change + ((band->b[i] * 32640) >> 15));
  }
}

// Block 4: the predictor learns the new difference and predicts the next sample.
static void predict(Band *band, int difference) {
  int poles[3] = {0}, zeros[7] = {0};
  band->d[0] = difference;
  band->r[0] = saturate(band->s + difference);
  band->p[0] = saturate(band->sz + difference);
  adapt_poles(band, poles);
  adapt_zeros(band, zeros);
  for (int i = 6; i > 0; i--) {
    band->d[i] = band->d[i - 1];
    band->b[i] = zeros[i];
  }
  for (int i = 2; i > 0; i--) {
    band->r[i] = band->r[i - 1];
    band->p[i] = band->p[i - 1];
    band->a[i] = poles[i];
  }
  band->sp = saturate(((band->a[1] * saturate(2 * band->r[1])) >> 15) +
                      ((band->a[2] * saturate(2 * band->r[2])) >> 15));
  band->sz = 0;
  for (int i = 6; i > 0; i--) band->sz += (band->b[i] * saturate(2 * band->d[i])) >> 15;
  band->sz = saturate(band->sz);
  band->s = saturate(band->sp + band->sz);
}

static int decode_low(Band *band, int code) {
  int heard = clamp(band->s + ((band->det * low_6bit[code]) >> 15), -16384, 16383);
  int difference = (band->det * low_4bit[code >> 2]) >> 15;
  adapt_scale(band, low_step[low_index[code >> 2]], 18432, 8);
  predict(band, difference);
  return heard;
}

static int decode_high(Band *band, int code) {
  int difference = (band->det * high_2bit[code]) >> 15;
  int heard = clamp(difference + band->s, -16384, 16383);
  adapt_scale(band, high_step[high_index[code]], 22528, 10);
  predict(band, difference);
  return heard;
}

void g722_decode(const uint8_t *bytes, size_t count, int16_t *samples) {
  Band low = {.det = 32}, high = {.det = 8};
  int history[24] = {0};
  for (size_t i = 0; i < count; i++) {
    int l = decode_low(&low, bytes[i] & 0x3F), h = decode_high(&high, bytes[i] >> 6);
    memmove(history, history + 2, 22 * sizeof *history);
    history[22] = l + h;
    history[23] = l - h;
    int even = 0, odd = 0;
    for (int k = 0; k < 12; k++) {
      odd += history[2 * k] * qmf[k];
      even += history[2 * k + 1] * qmf[11 - k];
    }
    samples[2 * i] = (int16_t)saturate(even >> 11);
    samples[2 * i + 1] = (int16_t)saturate(odd >> 11);
  }
}
