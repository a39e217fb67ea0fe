import TalkCore

/// Up to which number each speaker's requests are over: granted and used, or taken back. A repeat
/// of one that comes late, or that somebody kept to play it again, asks for nothing.
struct SpentRequests {
  private var table = OrderedTable<Speaker, UInt64>(limit: Speaker.limit)

  /// Notes that a speaker's requests up to this one are over.
  mutating func note(_ request: UInt64, of peer: PeerID, seat: UInt16) {
    table.raise(Speaker(peer: peer, seat: seat), to: request)
  }

  /// True for a request that is over.
  func contains(_ request: UInt64, of peer: PeerID, seat: UInt16) -> Bool {
    guard let over = table[Speaker(peer: peer, seat: seat)] else { return false }
    return request <= over
  }
}
