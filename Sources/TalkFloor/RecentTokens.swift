package import TalkCore
package import TalkWire

/// The last 64 tokens that were released, displaced or succeeded: none of them wins again
/// (floor.md, order, rule 1).
package struct RecentTokens: Sendable {
  /// How many are remembered.
  package static let limit = 64

  private var slots: [(id: TokenID, at: Instant)] = []
  private var next = 0

  /// Nothing remembered.
  package init() { slots.reserveCapacity(Self.limit) }

  /// Remembers that a token is over; the first time counts.
  package mutating func insert(_ id: TokenID, at now: Instant) {
    guard overSince(id) == nil else { return }
    if slots.count < Self.limit {
      slots.append((id, now))
    } else {
      slots[next] = (id, now)
      next = (next + 1) % Self.limit
    }
  }

  /// Since when a token is over; nil when it is not known to be.
  package func overSince(_ id: TokenID) -> Instant? {
    for slot in slots where slot.id == id { return slot.at }
    return nil
  }
}
