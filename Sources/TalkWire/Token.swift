package import TalkCore

/// How urgent a burst is (floor.md, "Token and order"). Priority goes to the head of the queue;
/// only imminent peril and emergency pre-empt.
package enum FloorClass: UInt8, Comparable, Sendable, CaseIterable {
  /// Everyone's, unless refused.
  case normal = 0
  /// Granted by the roster; first in the queue.
  case priority = 1
  /// Granted by the roster; pre-empts lower classes.
  case imminentPeril = 2
  /// Everyone's, unless refused; pre-empts lower classes.
  case emergency = 3

  /// True when the lower class is the left one.
  package static func < (left: FloorClass, right: FloorClass) -> Bool {
    left.rawValue < right.rawValue
  }

  /// True when a talker of this class stops a talker of a lower one.
  package var preempts: Bool { self >= .imminentPeril }
}

/// Which holding of the floor: unique on a channel (invariant S7).
package struct TokenID: Hashable, Comparable, Sendable {
  /// The 48-bit number of this holding.
  package var turn: UInt64
  /// Who holds.
  package var holder: PeerID
  /// The speaker behind the holder: 0 is the node's own.
  package var seat: UInt16

  /// Makes the id of a holding.
  package init(turn: UInt64, holder: PeerID, seat: UInt16) {
    self.turn = turn
    self.holder = holder
    self.seat = seat
  }

  /// Orders by turn, then holder, then seat: for tables, not for deciding who wins.
  package static func < (left: TokenID, right: TokenID) -> Bool {
    (left.turn, left.holder, left.seat) < (right.turn, right.holder, right.seat)
  }
}

/// The floor as it is passed from hand to hand: who holds it, in which turn, with which class.
///
/// On the wire 25 bytes: class 1, turn 6, holder 16, seat 2.
package struct Token: Hashable, Sendable {
  /// Which holding.
  package var id: TokenID
  /// Its class while its holder talks; an idle token counts as normal.
  package var floorClass: FloorClass

  /// Makes a token.
  package init(id: TokenID, floorClass: FloorClass) {
    self.id = id
    self.floorClass = floorClass
  }

  /// Bytes on the wire.
  package static let size = 25
  /// The highest turn that 48 bits hold.
  package static let turnLimit: UInt64 = 1 << 48 - 1

  /// Reads a token; nil when the bytes do not suffice or the class is unknown.
  package init?(from reader: inout ByteReader) {
    guard let rawClass = reader.u8(), let turn = reader.u48(), let holder = reader.bytes16(),
      let seat = reader.u16(), let floorClass = FloorClass(rawValue: rawClass)
    else { return nil }
    self.init(
      id: TokenID(turn: turn, holder: PeerID(holder), seat: seat), floorClass: floorClass)
  }

  /// Appends the token.
  package func write(to writer: inout ByteWriter) {
    writer.u8(floorClass.rawValue)
    writer.u48(id.turn)
    writer.bytes16(id.holder.value)
    writer.u16(id.seat)
  }
}
