import TalkCore

/// Up to which number each speaker's requests are over: granted and used, or taken back. A repeat of
/// one that comes late, or that somebody kept to play it again, asks for nothing.
struct SpentRequests {
  /// One speaker behind a peer.
  private struct Speaker: Hashable, Comparable {
    var peer: PeerID
    var seat: UInt16

    static func < (left: Speaker, right: Speaker) -> Bool {
      (left.peer, left.seat) < (right.peer, right.seat)
    }
  }

  private var table = OrderedTable<Speaker, UInt64>(limit: 2_048)

  /// Notes that a speaker's requests up to this one are over.
  mutating func note(_ request: UInt64, of peer: PeerID, seat: UInt16) {
    let speaker = Speaker(peer: peer, seat: seat)
    if let index = table.index(of: speaker) {
      table[at: index] = max(table[at: index], request)
    } else if !table.isFull {
      table[speaker] = request
    }
  }

  /// True for a request that is over.
  func contains(_ request: UInt64, of peer: PeerID, seat: UInt16) -> Bool {
    guard let index = table.index(of: Speaker(peer: peer, seat: seat)) else { return false }
    return request <= table[at: index]
  }
}
