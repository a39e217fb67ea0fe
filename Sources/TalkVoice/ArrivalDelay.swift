import TalkCore

/// How late frames arrive, compared with the quickest of the last seconds, and how much delay that
/// asks for: the 98th percentile over about the last 100 frames (in the manner of WebRTC's NetEQ,
/// whose histogram forgets with 0.983 and aims at the 95th).
struct ArrivalDelay {
  /// The least delay worth having: one 20 ms frame, or two of 10 ms.
  static let minimum: Int64 = 20_000_000
  /// The most delay ever aimed at (voice.md); frames that come later are given up.
  static let maximum: Int64 = 200_000_000
  private static let binWidth: Int64 = 5_000_000
  private static let binCount = 64
  private static let forgetting: Float = 0.99
  private static let percentile: Float = 0.98
  /// The quickest arrival is that of one to two of these spans: a path that got longer shows soon.
  private static let spanNanoseconds: Int64 = 1_500_000_000
  /// Frames kept from the press arrive in one lump at the grant; they say nothing of the path.
  private static let lumpNanoseconds: Int64 = 40_000_000

  private var weights = [Float](repeating: 0, count: binCount)
  /// How many frames the weights stand for, at most as many as are remembered.
  private var noted: Float = 0
  private var quickest = Int64.max
  private var quickestBefore = Int64.max
  private var spanEnd = Int64.max
  private var lumpEnd = Int64.max
  private var originNumber: Int64 = 0
  private var frameNanoseconds: Int64 = 0
  /// The delay to aim at, in nanoseconds.
  private(set) var target = Self.minimum

  /// Forgets everything; the next frame is the first, and `start` nanoseconds are aimed at until
  /// frames have shown that less will do.
  mutating func restart(start: Int64, frameNanoseconds: Int64) {
    for index in weights.indices { weights[index] = 0 }
    weights[Self.bin(start)] = 1
    noted = 1
    quickest = .max
    quickestBefore = .max
    spanEnd = .max
    lumpEnd = .max
    self.frameNanoseconds = frameNanoseconds
    target = start
  }

  private static func bin(_ delay: Int64) -> Int {
    min(binCount - 1, max(0, Int((delay - 1) / binWidth)))
  }

  private func transit(_ number: Int64, at time: Int64) -> Int64 {
    time - (number - originNumber) * frameNanoseconds
  }

  /// Notes that the frame `number` arrived for the first time.
  mutating func note(_ number: Int64, at time: Int64) {
    if spanEnd == .max {
      originNumber = number
      spanEnd = time + Self.spanNanoseconds
      lumpEnd = time + Self.lumpNanoseconds
    }
    if time >= spanEnd {
      quickestBefore = quickest
      quickest = .max
      spanEnd = time + Self.spanNanoseconds
    }
    let transit = transit(number, at: time)
    quickest = min(quickest, transit)
    guard time >= lumpEnd else { return }
    // At first all frames count alike, so that the start soon gives way to what is seen.
    noted += 1
    let kept = min(Self.forgetting, 1 - 1 / noted)
    for index in weights.indices { weights[index] *= kept }
    weights[Self.bin(transit - min(quickest, quickestBefore))] += 1 - kept
    target = min(Self.maximum, max(Self.minimum, quantile()))
  }

  private func quantile() -> Int64 {
    var above = 1 - Self.percentile
    var index = Self.binCount - 1
    while index > 0 {
      above -= weights[index]
      if above < 0 { break }
      index -= 1
    }
    return Int64(index + 1) * Self.binWidth
  }

  /// How much later the frame `number` would be heard at `time` than if it had been played the
  /// moment the quickest one arrives; 0 before any arrival.
  func delay(of number: Int64, at time: Int64) -> Int64 {
    guard spanEnd != .max else { return 0 }
    return transit(number, at: time) - min(quickest, quickestBefore)
  }
}
