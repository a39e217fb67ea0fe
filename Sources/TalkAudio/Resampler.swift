import Glibc

/// Brings sound of any rate to 48 kHz with a windowed sinc (Hann, 32 zero crossings), block by
/// block. For files; devices resample for themselves.
struct Resampler {
  /// Zero crossings of the sinc on each side.
  private static let crossings = 16

  private let step: Double
  private let cutoff: Double
  private let reach: Int
  private var input: [Float]
  private var position: Double

  /// Resamples from `rate` samples per second.
  init(from rate: Int) {
    step = Double(rate) / Double(AudioLimits.sampleRate)
    cutoff = min(1, 1 / step)
    reach = Int((Double(Self.crossings) / cutoff).rounded(.up))
    input = [Float](repeating: 0, count: reach)
    position = Double(reach)
  }

  /// Takes the next samples, and appends what can be told of the result. After the last ones call
  /// it once more with `reach` zeros, as `flush` does.
  mutating func append(_ samples: some Collection<Float>, to output: inout [Int16]) {
    guard step != 1 else {
      output += samples.map(Self.rounded)
      return
    }
    input += samples
    while Int(position) + reach < input.count {
      output.append(Self.rounded(value(at: position)))
      position += step
    }
    let used = max(0, Int(position) - reach)
    input.removeFirst(used)
    position -= Double(used)
  }

  /// Appends the end of the result.
  mutating func flush(to output: inout [Int16]) {
    append([Float](repeating: 0, count: step == 1 ? 0 : reach), to: &output)
  }

  private func value(at position: Double) -> Float {
    let centre = Int(position)
    var sum = 0.0
    for index in centre - reach + 1...centre + reach {
      let distance = (position - Double(index)) * cutoff
      guard abs(distance) < Double(Self.crossings) else { continue }
      let window = 0.5 + 0.5 * cos(.pi * distance / Double(Self.crossings))
      let sinc = abs(distance) < 1e-9 ? 1 : sin(.pi * distance) / (.pi * distance)
      sum += Double(input[index]) * sinc * window * cutoff
    }
    return Float(sum)
  }

  private static func rounded(_ value: Float) -> Int16 {
    Int16(max(-32_768, min(32_767, (value * 32_768).rounded())))
  }
}
