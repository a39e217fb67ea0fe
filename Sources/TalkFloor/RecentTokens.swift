package import TalkCore
package import TalkWire

/// Tokens that were released, displaced or succeeded: none of them talks again (floor.md, order,
/// rule 1).
///
/// The last 64 are remembered with the time. Beyond those counts that a speaker's turns rise (S7):
/// whatever it had at or below its highest turn that is over, is over too, so that no recording is
/// ever old enough to be played again.
package struct RecentTokens: Sendable {
  /// How many are remembered with their time.
  package static let limit = 64

  private var slots: [(id: TokenID, at: Instant)] = []
  private var next = 0
  private var highest = OrderedTable<Speaker, UInt64>(limit: Speaker.limit)

  /// Nothing remembered.
  package init() { slots.reserveCapacity(Self.limit) }

  /// Remembers that a token is over; the first time counts.
  package mutating func insert(_ id: TokenID, at now: Instant) {
    guard slot(of: id) == nil else { return }
    highest.raise(Speaker(peer: id.holder, seat: id.seat), to: id.turn)
    if slots.count < Self.limit {
      slots.append((id, now))
    } else {
      slots[next] = (id, now)
      next = (next + 1) % Self.limit
    }
  }

  /// Since when a token is over, the beginning of time if that is long ago; nil when it is not
  /// known to be.
  package func overSince(_ id: TokenID) -> Instant? {
    if let at = slot(of: id) { return at }
    guard let over = highest[Speaker(peer: id.holder, seat: id.seat)] else { return nil }
    return id.turn <= over ? .zero : nil
  }

  private func slot(of id: TokenID) -> Instant? {
    for slot in slots where slot.id == id { return slot.at }
    return nil
  }
}
