import TalkCore

/// Bounds how many lines a log gets: a burst, then a steady trickle. What is left out is counted,
/// and told with the next line that passes. Ask `admit` before each line.
struct LogGate {
  /// The most lines at once: a node that starts, and a dozen members that come, fit in.
  static let burst = 40
  /// The time after which one more line may pass.
  static let interval = Duration.seconds(6)

  private var room = LogGate.burst
  private var since = Instant.zero
  private var leftOut = 0

  /// Nil when the line is to be left out; else how many were left out since the last one.
  mutating func admit(at now: Instant) -> Int? {
    let elapsed = max(.zero, now - since)
    let steps = Int(min(elapsed.wholeNanoseconds / Self.interval.wholeNanoseconds, 1_000_000))
    if steps > 0 {
      room = min(Self.burst, room + steps)
      since =
        room == Self.burst
        ? now
        : since
          + .nanoseconds(
            Int64(steps) * Self.interval.wholeNanoseconds)
    }
    guard room > 0 else {
      leftOut += 1
      return nil
    }
    room -= 1
    defer { leftOut = 0 }
    return leftOut
  }
}
