/// A point in time on CLOCK_BOOTTIME, in nanoseconds since the machine started.
///
/// Machines never read a clock: the shell (or the simulator) hands them the time. The clock goes
/// on while the machine sleeps, so a lease lapses in sleep.
public struct Instant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the machine started (clock_gettime(2), CLOCK_BOOTTIME).
  public var nanoseconds: UInt64

  /// Makes the instant `nanoseconds` after the machine's start.
  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  /// The machine's start; earlier than every instant that a clock gives.
  public static let zero = Instant(nanoseconds: 0)

  /// Later than every instant that a clock gives.
  public static let distantFuture = Instant(nanoseconds: .max)

  /// True when `left` comes first.
  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The instant `duration` later; saturates at both ends.
  public static func + (left: Instant, duration: Duration) -> Instant {
    let step = duration.wholeNanoseconds
    let (sum, over) =
      step >= 0
      ? left.nanoseconds.addingReportingOverflow(UInt64(step))
      : left.nanoseconds.subtractingReportingOverflow(step.magnitude)
    guard over else { return Instant(nanoseconds: sum) }
    return step >= 0 ? .distantFuture : .zero
  }

  /// The instant `duration` earlier; saturates at both ends.
  public static func - (left: Instant, duration: Duration) -> Instant {
    left + .nanoseconds(-duration.wholeNanoseconds)
  }

  /// How long after `right` this instant is; negative when it is before.
  public static func - (left: Instant, right: Instant) -> Duration {
    .nanoseconds(Int64(bitPattern: left.nanoseconds &- right.nanoseconds))
  }

  /// Moves the instant by `duration`; saturates at both ends.
  public static func += (left: inout Instant, duration: Duration) {
    left = left + duration
  }

  /// The earlier of two optional instants, where none means never.
  public static func earliest(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return left < right ? left : right
  }
}

extension Duration {
  /// This duration in whole nanoseconds, rounded towards zero; saturates beyond 292 years.
  public var wholeNanoseconds: Int64 {
    // Up to 9 s either way the attoseconds fit a word, and no wide division is needed: machines do
    // this for every datagram.
    if let short = Int64(exactly: attoseconds) { return short / 1_000_000_000 }
    let (seconds, attoseconds) = components
    let (product, over) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !over else { return seconds < 0 ? .min : .max }
    let (sum, tooFar) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return tooFar ? (seconds < 0 ? .min : .max) : sum
  }

  /// This duration in milliseconds, for people and JSON.
  public var milliseconds: Double {
    Double(wholeNanoseconds) / 1_000_000
  }
}
