import TalkCore

/// How many floor messages one member may send: a flood of one costs the others a bounded share of
/// their time, however well it is signed (field report G7).
///
/// A bucket: `burst` messages at once, `perSecond` in the long run. The most that a member sends by
/// the rules is a grant's repeats and a press's repeats together, 50 in a second each.
struct MessageBudget: Sendable {
  /// How many may come at once.
  static let burst = 128
  /// How many may come in the long run.
  static let perSecond = 128

  private var left = Self.burst
  private var filledAt: Instant?

  /// Takes one message; false when the member has sent too many.
  mutating func take(now: Instant) -> Bool {
    if let filledAt, now > filledAt {
      let step = 1_000_000_000 / Int64(Self.perSecond)
      let gained = (now - filledAt).wholeNanoseconds / step
      if gained > 0 {
        left = Int(min(Int64(Self.burst), Int64(left) + gained))
        self.filledAt = left == Self.burst ? now : filledAt + .nanoseconds(gained * step)
      }
    } else if filledAt == nil {
      filledAt = now
    }
    guard left > 0 else { return false }
    left -= 1
    return true
  }
}
