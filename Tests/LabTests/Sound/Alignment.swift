/// How loud a signal is, every 5 ms.
struct Envelope: Sendable {
  static let step = 0.005
  static let stepCount = Int(step * Signal.rate)

  /// The root of the mean square of each step.
  let levels: [Double]

  init(_ signal: Signal) {
    levels = (0..<signal.samples.count / Envelope.stepCount).map {
      let energy = signal.energy(from: $0 * Envelope.stepCount, count: Envelope.stepCount)
      return max(0, energy / Double(Envelope.stepCount)).squareRoot()
    }
  }

  /// The samples from the first to the last step that is no more than 30 dB below the loudest.
  func soundRange() -> Range<Int> {
    let threshold = (levels.max() ?? 0) * 0.03
    guard let first = levels.firstIndex(where: { $0 > threshold }),
      let last = levels.lastIndex(where: { $0 > threshold })
    else { return 0..<0 }
    return first * Envelope.stepCount..<(last + 1) * Envelope.stepCount
  }
}

/// Where speech lies in a recording as a whole.
enum Alignment {
  private static let clearWindows = 8
  private static let clearCount = Int(0.2 * Signal.rate)
  private static let slack = Int(0.03 * Signal.rate)

  /// Samples from a place in `spoken` to the same sound in `heard`. The loudness over time finds it
  /// roughly; then the loudest windows vote on the exact place.
  static func shift(
    of spoken: Signal, _ speech: Range<Int>, in heard: Signal, _ delays: ClosedRange<Double>
  ) -> Int {
    let clockShift = (spoken.start - heard.start) * Signal.rate
    let earliest = Int(clockShift + delays.lowerBound * Signal.rate)
    let latest = Int(clockShift + delays.upperBound * Signal.rate)
    let rough = roughShift(spoken, heard, earliest...latest)
    let windows = stride(from: speech.lowerBound, to: speech.upperBound, by: clearCount)
      .sorted { energy(spoken, $0) > energy(spoken, $1) }
      .prefix(clearWindows)
    let votes = windows.map { from in
      let place = from + rough
      let match = Match.best(
        of: spoken, from: from, count: clearCount, in: heard, at: place - slack...place + slack)
      return (shift: Int(match.index.rounded()) - from, weight: match.correlation)
    }
    let sure = votes.filter { $0.weight > 0.5 }.map(\.shift).sorted()
    return sure.isEmpty ? rough : sure[sure.count / 2]
  }

  private static func energy(_ signal: Signal, _ from: Int) -> Double {
    signal.energy(from: from, count: clearCount)
  }

  private static func roughShift(
    _ spoken: Signal, _ heard: Signal, _ shifts: ClosedRange<Int>
  ) -> Int {
    let said = centred(Envelope(spoken).levels)
    let heardLevels = centred(Envelope(heard).levels)
    let steps = floorDivide(shifts.lowerBound)...floorDivide(shifts.upperBound) + 1
    let best = steps.max { score(said, heardLevels, $0) < score(said, heardLevels, $1) }
    return (best ?? 0) * Envelope.stepCount
  }

  private static func floorDivide(_ samples: Int) -> Int {
    Int((Double(samples) / Double(Envelope.stepCount)).rounded(.down))
  }

  private static func centred(_ levels: [Double]) -> [Double] {
    let mean = levels.reduce(0, +) / Double(max(1, levels.count))
    return levels.map { $0 - mean }
  }

  private static func score(_ said: [Double], _ heard: [Double], _ shift: Int) -> Double {
    let first = max(0, -shift)
    let last = min(said.count, heard.count - shift)
    guard last > first else { return -.infinity }
    return said.withUnsafeBufferPointer { said in
      heard.withUnsafeBufferPointer { heard in
        var (sum, index) = (0.0, first)
        while index < last {
          sum += said[index] * heard[index + shift]
          index += 1
        }
        return sum
      }
    }
  }
}
