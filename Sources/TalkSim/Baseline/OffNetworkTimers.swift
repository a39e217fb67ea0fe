import TalkCore

/// The timers and counters of an off-network floor participant (TS 24.380 clause 11), with the
/// values that NIST's model of MCPTT uses and floor.md lists.
package struct OffNetworkTimers: Hashable, Sendable {
  /// T201: between two Floor Requests.
  package var t201 = Duration.milliseconds(40)
  /// C201: the upper limit of Floor Requests; then the floor is taken.
  package var c201 = 3
  /// T203: without media for this long the talker is gone.
  package var t203 = Duration.seconds(4)
  /// T204: between two Floor Queue Position Requests.
  package var t204 = Duration.milliseconds(80)
  /// C204: the upper limit of Floor Queue Position Requests.
  package var c204 = 3
  /// T205: between two Floor Granted messages to one client.
  package var t205 = Duration.milliseconds(80)
  /// C205: the upper limit of Floor Granted messages to one client.
  package var c205 = 4
  /// T206: from the first media of a burst to the warning.
  package var t206 = Duration.seconds(27)
  /// T207: from the warning to the end of the burst.
  package var t207 = Duration.seconds(3)
  /// T230: without any activity for this long the call is over.
  package var t230 = Duration.seconds(600)
  /// T233: how long an arbitrator waits for a granted user that does not answer before it grants
  /// the next one.
  package var t233 = Duration.seconds(3)
  /// How many may wait; the specification leaves it open, and ours has the same.
  package var queueLimit = 16

  /// The values of the specification.
  package init() {}
}

/// A counter with an upper limit (TS 24.380 clause 11.2): it counts the messages sent, the first
/// one included.
struct OffNetworkCounter {
  private(set) var value = 1
  let limit: Int

  /// Starts over: one message is out.
  mutating func reset() { value = 1 }

  /// One message more.
  mutating func increment() { value += 1 }

  var isAtLimit: Bool { value >= limit }
}

/// Which timers run, and until when.
struct OffNetworkClock {
  var t201: Instant?
  var t203: Instant?
  var t204: Instant?
  var t205: Instant?
  var t206: Instant?
  var t207: Instant?
  var t230: Instant?
  var t233: Instant?

  /// The first that expires.
  var earliest: Instant? {
    [t201, t203, t204, t205, t206, t207, t230, t233].reduce(nil, Instant.earliest)
  }

  /// Takes a timer that has expired: it runs no more.
  mutating func take(_ timer: WritableKeyPath<OffNetworkClock, Instant?>, now: Instant) -> Bool {
    guard let due = self[keyPath: timer], due <= now else { return false }
    self[keyPath: timer] = nil
    return true
  }
}
