package import TalkCore

/// One speaker behind a peer: its own, or a gateway's phone.
package struct Speaker: Hashable, Comparable, Sendable {
  /// The most speakers that something is remembered of.
  package static let limit = 2_048

  /// Whose node.
  package var peer: PeerID
  /// Which of its speakers; 0 is its own.
  package var seat: UInt16

  /// Makes a speaker's name.
  package init(peer: PeerID, seat: UInt16) {
    self.peer = peer
    self.seat = seat
  }

  /// Orders by peer, then by seat.
  package static func < (left: Speaker, right: Speaker) -> Bool {
    (left.peer, left.seat) < (right.peer, right.seat)
  }
}

extension OrderedTable where Key == Speaker, Value == UInt64 {
  /// Keeps the higher of two numbers of a speaker; a full table learns of no new one.
  mutating func raise(_ speaker: Speaker, to number: UInt64) {
    if let index = index(of: speaker) {
      self[at: index] = max(self[at: index], number)
    } else if !isFull {
      self[speaker] = number
    }
  }
}
