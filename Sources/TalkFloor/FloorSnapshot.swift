package import TalkCore
package import TalkWire

/// What a person may know of the floor at one moment.
package struct FloorSnapshot: Hashable, Sendable {
  /// The five states that surface.md names.
  package enum State: String, Sendable {
    /// Nobody talks.
    case idle
    /// Somebody else talks.
    case taken
    /// We asked, and wait for the answer.
    case requested
    /// We wait behind others.
    case queued
    /// We talk.
    case ours
  }

  /// Which state.
  package var state: State
  /// The token of the talker, ours included.
  package var token: Token?
  /// Since when the talker talks.
  package var since: Instant?
  /// Our place in the queue, from 1.
  package var place: Int?
  /// Who waits, next one first.
  package var queue: [QueueEntry]
  /// Who grants while nobody talks.
  package var keeper: PeerID?
  /// The longest burst.
  package var limit: Duration
  /// The number of the latest holding; 0 before the first.
  package var latestTurn: UInt64
}
