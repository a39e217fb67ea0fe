package import TalkCore
package import TalkWire

/// Who has the running exchange: question, answer, question again. Its members come first in the
/// queue for the hang time (`FloorTimers.hangTime`), so that a third talker does not cut into a
/// dialogue; it never delays a grant (floor.md, "Roles").
package struct FloorExchange: Sendable {
  /// How many talkers count as one exchange.
  package static let limit = 4

  private var talkers: [Speaker] = []
  private var lastEnd: Instant?

  /// Nobody has spoken yet.
  package init() { talkers.reserveCapacity(Self.limit + 1) }

  /// A burst of `token` begins; after a pause of `hangTime` it is another exchange.
  package mutating func begin(_ token: TokenID, hangTime: Duration, now: Instant) {
    if let lastEnd, now - lastEnd > hangTime { talkers.removeAll(keepingCapacity: true) }
    lastEnd = nil
    let speaker = Speaker(peer: token.holder, seat: token.seat)
    talkers.removeAll { $0 == speaker }
    talkers.append(speaker)
    if talkers.count > Self.limit { talkers.removeFirst() }
  }

  /// The burst is over.
  package mutating func end(now: Instant) { lastEnd = now }

  /// True for a talker of the running exchange.
  package func contains(_ peer: PeerID, seat: UInt16) -> Bool {
    talkers.contains(Speaker(peer: peer, seat: seat))
  }
}
