package import TalkCore

/// When to send the next HELLO of a channel: at 0, 1, 2, 4 s, then every max(5 s, N/3 s).
///
/// Drive it so: at `deadline` call `isDue`; when it says true, send one HELLO on each usable link.
/// `restart` on a network change. With N members all of them together send three in a second at
/// most, so the steady part is spread by a tenth either way: nodes that start together (the power
/// came back) must not speak together for ever.
package struct HelloSchedule: Sendable {
  private static let early: [Duration] = [.seconds(1), .seconds(1), .seconds(2)]

  /// When the next HELLO is due.
  package private(set) var deadline: Instant?
  private var sent = 0
  private var jitter: SeededGenerator

  /// A schedule whose first HELLO is due at `now`; `seed` spreads the later ones.
  package init(now: Instant, seed: UInt64) {
    deadline = now
    jitter = SeededGenerator(seed: seed)
  }

  /// Starts over: the first HELLO is due at `now`.
  package mutating func restart(now: Instant) {
    deadline = now
    sent = 0
  }

  /// Whether a HELLO is due; if so the next one is planned, for a channel of `memberCount`.
  package mutating func isDue(now: Instant, memberCount: Int) -> Bool {
    guard let due = deadline, due <= now else { return false }
    if sent < Self.early.count {
      deadline = now + Self.early[sent]
      sent += 1
    } else {
      let steady = max(5.0, Double(memberCount) / 3)
      let spread = 0.9 + 0.2 * jitter.fraction()
      deadline = now + .nanoseconds(Int64(steady * spread * 1e9))
    }
    return true
  }
}
