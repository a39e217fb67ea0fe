// A decoder for G.722 at 64 kbit/s: Debian ships real speech in it (asterisk-core-sounds-en-g722),
// and the smallest Debian program that decodes it brings hundreds of megabytes along.
#ifndef G722_H
#define G722_H
#include <stddef.h>
#include <stdint.h>

enum { G722_RATE = 16000, G722_SAMPLES_PER_BYTE = 2 };

// Decodes a whole stream; `samples` has room for 2 × `count`.
void g722_decode(const uint8_t *bytes, size_t count, int16_t *samples);
#endif
