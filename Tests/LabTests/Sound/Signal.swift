import Glibc

/// A clip as the comparison sees it: band-passed to 300–3,400 Hz, the band in which a codec keeps
/// the wave form, at 16 kHz.
///
/// Loops run over raw buffers: tests are built without optimisation, and a clip of minutes has
/// millions of samples.
struct Signal: Sendable {
  static let rate = 16_000.0
  private static let decimation = 3

  let samples: [Float]
  /// The time of sample 0 in seconds.
  let start: Double
  /// The energy of all samples before each.
  private let energies: [Double]

  init(_ clip: Clip) {
    self.init(samples: Signal.bandPass(clip.samples), start: clip.start)
  }

  init(samples: [Float], start: Double) {
    self.samples = samples
    self.start = start
    var sums = [Double](repeating: 0, count: samples.count + 1)
    sums.withUnsafeMutableBufferPointer { sums in
      samples.withUnsafeBufferPointer { samples in
        guard let sum = sums.baseAddress, let sample = samples.baseAddress else { return }
        var index = 0
        while index < samples.count {
          sum[index + 1] = sum[index] + Double(sample[index] * sample[index])
          index += 1
        }
      }
    }
    energies = sums
  }

  /// The energy of a run of samples; beyond the ends there is silence.
  func energy(from: Int, count: Int) -> Double {
    let first = min(max(0, from), samples.count)
    let last = min(max(first, from + count), samples.count)
    return energies[last] - energies[first]
  }

  func index(at time: Double) -> Int { Int(((time - start) * Signal.rate).rounded()) }

  func time(of index: Int) -> Double { start + Double(index) / Signal.rate }

  // MARK: Filter

  /// Four second-order sections: Butterworth high-pass at 300 Hz and low-pass at 3,400 Hz, fourth
  /// order each, then every third sample. (Robert Bristow-Johnson's cookbook; both clips take the
  /// same filter, so its phase does not matter.)
  private static func bandPass(_ input: [Int16]) -> [Float] {
    // The two sections of a fourth-order Butterworth filter have these qualities.
    let qualities = [0.541_196_1, 1.306_563]
    let sections =
      qualities.map { Section(highPass: 300, quality: $0) }
      + qualities.map { Section(lowPass: 3_400, quality: $0) }
    var output = [Float](repeating: 0, count: input.count / decimation)
    var work = input.map(Float.init)
    work.withUnsafeMutableBufferPointer { buffer in
      for section in sections { section.run(buffer) }
    }
    output.withUnsafeMutableBufferPointer { output in
      work.withUnsafeBufferPointer { work in
        var index = 0
        while index < output.count {
          output[index] = work[index * decimation]
          index += 1
        }
      }
    }
    return output
  }

  /// y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]
  private struct Section {
    let b0, b1, b2, a1, a2: Float

    init(highPass frequency: Double, quality: Double) {
      self.init(frequency, quality, numerator: { c in ((1 + c) / 2, -(1 + c), (1 + c) / 2) })
    }

    init(lowPass frequency: Double, quality: Double) {
      self.init(frequency, quality, numerator: { c in ((1 - c) / 2, 1 - c, (1 - c) / 2) })
    }

    private init(
      _ frequency: Double, _ quality: Double,
      numerator: (_ cosine: Double) -> (Double, Double, Double)
    ) {
      let omega = 2 * Double.pi * frequency / Clip.rate
      let (cosine, alpha) = (cos(omega), sin(omega) / (2 * quality))
      let (n0, n1, n2) = numerator(cosine)
      let scale = 1 / (1 + alpha)
      (b0, b1, b2) = (Float(n0 * scale), Float(n1 * scale), Float(n2 * scale))
      (a1, a2) = (Float(-2 * cosine * scale), Float((1 - alpha) * scale))
    }

    /// Filters in place.
    func run(_ buffer: UnsafeMutableBufferPointer<Float>) {
      guard let sample = buffer.baseAddress else { return }
      var (x1, x2, y1, y2): (Float, Float, Float, Float) = (0, 0, 0, 0)
      var index = 0
      while index < buffer.count {
        let x = sample[index]
        let y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        (x2, x1, y2, y1) = (x1, x, y1, y)
        sample[index] = y
        index += 1
      }
    }
  }
}
