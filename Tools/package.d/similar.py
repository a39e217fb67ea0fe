#!/usr/bin/env python3
"""similar.py SPOKEN.wav HEARD.raw: how alike the two are, from 0 to 1, and how late it was heard.

Compares the loudness of each 10 ms, in dB above the quietest, at the best shift: words are told
apart by it, and no clock drift, codec or resampling matters. Both mono, 16 bits, 48 kHz."""
import array
import math
import sys
import wave

BLOCK = 480


def loudness(samples):
    levels = []
    for start in range(0, len(samples) - BLOCK + 1, BLOCK):
        power = sum(x * x for x in samples[start:start + BLOCK]) / BLOCK
        levels.append(max(0.0, 10 * math.log10(power + 1) - 20))
    return levels


def correlation(a, b):
    n = len(a)
    mean_a, mean_b = sum(a) / n, sum(b) / n
    top = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    spread = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return top / spread if spread else 0.0


with wave.open(sys.argv[1]) as file:
    spoken = array.array("h", file.readframes(file.getnframes()))
heard = array.array("h", open(sys.argv[2], "rb").read()[: 48000 * 2 * 120])
a, b = loudness(spoken), loudness(heard)
if len(b) < len(a):
    sys.exit(f"similar: only {len(b) / 100:.1f} s were heard of {len(a) / 100:.1f} s")
best = max((correlation(a, b[shift:shift + len(a)]), shift)
           for shift in range(len(b) - len(a) + 1))
print(f"{best[0]:.3f} {best[1] / 100:.2f}")
