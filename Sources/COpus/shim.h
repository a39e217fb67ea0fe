#ifndef TALKAROUND_COPUS_H
#define TALKAROUND_COPUS_H
// opus_encoder_ctl and opus_decoder_ctl are variadic, which Swift cannot call.
#include <opus/opus.h>

static inline int talk_opus_encoder_set(OpusEncoder *encoder, int request, opus_int32 value) {
  return opus_encoder_ctl(encoder, request, value);
}

static inline int talk_opus_encoder_get(OpusEncoder *encoder, int request, opus_int32 *value) {
  return opus_encoder_ctl(encoder, request, value);
}

static inline int talk_opus_encoder_reset(OpusEncoder *encoder) {
  return opus_encoder_ctl(encoder, OPUS_RESET_STATE);
}
#endif
