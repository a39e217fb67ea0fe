import TalkCore

/// Sound that behaves like speech for a codec and a jitter buffer: syllables of a gliding voice
/// through moving formants, hissing consonants, and pauses between words. The same every time.
enum SyntheticSpeech {
  /// `milliseconds` of it at 48 kHz, with a peak of about -9 dB of full scale.
  static func make(milliseconds: Int, seed: UInt64 = 7) -> [Int16] {
    var random = SeededGenerator(seed: seed)
    let count = milliseconds * 48
    var sound: [Double] = []
    sound.reserveCapacity(count + 48_000)
    while sound.count < count {
      for _ in 0..<Int(2 + random.fraction() * 4) { syllable(&random, into: &sound) }
      let pause = Int((120 + random.fraction() * 260) * 48)
      for _ in 0..<pause { sound.append((random.fraction() - 0.5) * 0.0008) }
    }
    return sound.prefix(count).map { Int16(max(-1, min(1, $0)) * 32_000) }
  }

  private struct Resonator {
    var y1 = 0.0
    var y2 = 0.0
    mutating func next(_ input: Double, hertz: Double, width: Double) -> Double {
      let radius = 1 - Double.pi * width / 48_000
      let a1 = 2 * radius * Platform.cosine(2 * .pi * hertz / 48_000)
      let output = input * (1 - radius) + a1 * y1 - radius * radius * y2
      y2 = y1
      y1 = output
      return output
    }
  }

  private static func syllable(_ random: inout SeededGenerator, into sound: inout [Double]) {
    let hiss = Int((20 + random.fraction() * 50) * 48)
    var before = 0.0
    for index in 0..<hiss {
      let white = random.fraction() - 0.5
      sound.append((white - before) * 0.12 * swell(index, hiss))
      before = white
    }
    let count = Int((90 + random.fraction() * 160) * 48)
    let pitch = (95 + random.fraction() * 60, 85 + random.fraction() * 60)
    let first = (300 + random.fraction() * 400, 300 + random.fraction() * 400)
    let second = (900 + random.fraction() * 1_300, 900 + random.fraction() * 1_300)
    var low = Resonator()
    var high = Resonator()
    var phase = 0.0
    for index in 0..<count {
      let share = Double(index) / Double(count)
      phase += (pitch.0 + (pitch.1 - pitch.0) * share) / 48_000
      if phase >= 1 { phase -= 1 }
      let source = phase < 0.1 ? 1 - phase * 10 : 0
      let one = low.next(source, hertz: first.0 + (first.1 - first.0) * share, width: 80)
      let two = high.next(source, hertz: second.0 + (second.1 - second.0) * share, width: 120)
      sound.append((one * 5 + two * 4) * swell(index, count) * 0.5)
    }
  }

  private static func swell(_ index: Int, _ count: Int) -> Double {
    min(1, Double(min(index, count - index)) / 480)
  }
}

/// How alike two sounds are, the way voice.md asks: band-passed to 300–3,400 Hz, aligned anew for
/// each 200 ms, and averaged over the parts where there is speech.
enum Likeness {
  /// The mean correlation of `heard` with `spoken`, which is expected to lie `shift` samples later
  /// in `heard`, give or take `slack`.
  static func measure(
    _ spoken: [Int16], _ heard: [Int16], shift: Int, slack: Int = 960
  ) -> Double {
    let a = bandPass(spoken)
    let b = bandPass(heard)
    let window = 9_600 / decimation
    var sum = 0.0
    var parts = 0
    let loud = power(a, 0..<a.count) * 0.3
    for start in stride(from: 0, to: a.count - window, by: window) {
      guard power(a, start..<start + window) > loud else { continue }
      var best = -1.0
      for offset in (shift - slack) / decimation...(shift + slack) / decimation {
        let there = start + offset
        guard there >= 0, there + window <= b.count else { continue }
        best = max(best, correlation(a, start, b, there, window))
      }
      sum += best
      parts += 1
    }
    return parts == 0 ? 0 : sum / Double(parts)
  }

  private static let decimation = 4

  private static func power(_ x: [Float], _ range: Range<Int>) -> Float {
    var sum: Float = 0
    for index in range { sum += x[index] * x[index] }
    return (sum / Float(max(1, range.count))).squareRoot()
  }

  private static func correlation(
    _ a: [Float], _ i: Int, _ b: [Float], _ j: Int, _ count: Int
  ) -> Double {
    var ab: Float = 0
    var aa: Float = 1
    var bb: Float = 1
    a.withUnsafeBufferPointer { a in
      b.withUnsafeBufferPointer { b in
        for k in 0..<count {
          ab += a[i + k] * b[j + k]
          aa += a[i + k] * a[i + k]
          bb += b[j + k] * b[j + k]
        }
      }
    }
    return Double(ab / (aa.squareRoot() * bb.squareRoot()))
  }

  /// One-pole filters at both ends, twice, then every fourth sample.
  private static func bandPass(_ sound: [Int16]) -> [Float] {
    let up = Float(1 - Platform.power(2.718_281_828, -2 * .pi * 300 / 48_000))
    let down = Float(1 - Platform.power(2.718_281_828, -2 * .pi * 3_400 / 48_000))
    var lows: (Float, Float) = (0, 0)
    var highs: (Float, Float) = (0, 0)
    var result: [Float] = []
    result.reserveCapacity(sound.count / decimation + 1)
    for (index, sample) in sound.enumerated() {
      lows.0 += down * (Float(sample) - lows.0)
      lows.1 += down * (lows.0 - lows.1)
      highs.0 += up * (lows.1 - highs.0)
      let once = lows.1 - highs.0
      highs.1 += up * (once - highs.1)
      if index % decimation == 0 { result.append(once - highs.1) }
    }
    return result
  }
}
