package import TalkCore
package import TalkCrypto
package import TalkWire

/// Names an established association with one peer in one channel; stays the same when keys are
/// renewed and when the peer's address changes, and is never used again.
package struct LinkID: Hashable, Comparable, Sendable {
  /// Counts up from 1.
  package let number: UInt64

  init(number: UInt64) { self.number = number }

  /// Orders by age.
  package static func < (left: LinkID, right: LinkID) -> Bool { left.number < right.number }
}

/// Names a handshake whose partner has proved who it is and waits for our roster's word.
package struct PendingID: Hashable, Comparable, Sendable {
  /// The session's index.
  package let index: UInt32

  init(index: UInt32) { self.index = index }

  /// Orders by index, which says nothing.
  package static func < (left: PendingID, right: PendingID) -> Bool { left.index < right.index }
}

/// Who the partner of a handshake has proved to be.
package struct Introduction: Hashable, Sendable {
  /// In which channel.
  package let channel: ChannelID
  /// Where it was heard from.
  package let endpoint: Endpoint
  /// Both public keys: the signature and the handshake prove them.
  package let identity: PublicIdentity
  /// The identity on the wire.
  package let peer: PeerID
  /// The boot instance of its node.
  package let boot: UInt64
  /// What it calls itself; a label, to be escaped before it is shown.
  package let nickname: String
  /// True when it has the invite and asks to be admitted.
  package let joining: Bool
  /// Digest of its roster.
  package let rosterDigest: Bytes16
}

/// Why a link is gone.
package enum DownReason: Hashable, Sendable {
  /// The peer said good-bye; its BYE came as `.data` just before.
  case bye
  /// Nothing was heard for the silence limit.
  case timeout
  /// No new keys could be agreed before the old ones were too old.
  case rekeyFailed
  /// The peer's node started anew; the new link comes with the next event.
  case replaced
}

/// What a session table tells its node. Ranges are places in the datagram just received.
package enum SessionEvent: Hashable, Sendable {
  /// The partner of a handshake has proved who it is: check the roster, then `accept`, `refuse`, or
  /// leave it (it lapses after 5 s). Comes again with each repeat and after each `.admit`, and anew
  /// when the keys of a link are renewed.
  case auth(PendingID, Introduction)
  /// The partner of a handshake sent one ADMIT of its chain.
  case admit(PendingID, ChannelID, body: Range<Int>)
  /// Both sides have verified one another; the link can be used.
  case up(LinkID, Introduction)
  /// A datagram of an established peer.
  case data(LinkID, Kind, flags: UInt8, body: Range<Int>)
  /// The peer's address changed, proved by its newest datagram.
  case moved(LinkID, Endpoint)
  /// A dialed endpoint is another way to a peer that we have a live link with; nothing changed.
  case alias(LinkID, Endpoint)
  /// The link is gone.
  case down(LinkID, DownReason)
  /// Our own identity answered: ourselves when `loopback`, else a copy of our state elsewhere.
  case ownIdentity(ChannelID, Endpoint, loopback: Bool)
}

/// A datagram in the slab, and where it goes.
package struct SealedDatagram: Hashable, Sendable {
  /// Where in the slab.
  package let range: Range<Int>
  /// Where to.
  package let endpoint: Endpoint

  /// Names a range of the slab and its destination.
  package init(range: Range<Int>, endpoint: Endpoint) {
    (self.range, self.endpoint) = (range, endpoint)
  }
}

/// What is known of an established link.
package struct LinkState: Hashable, Sendable {
  /// In which channel.
  package let channel: ChannelID
  /// Who.
  package let identity: PublicIdentity
  /// The identity on the wire.
  package let peer: PeerID
  /// The boot instance of the peer's node.
  package let boot: UInt64
  /// Where datagrams to it go.
  package let endpoint: Endpoint
  /// When an authenticated datagram last came.
  package let lastReceived: Instant
  /// When both sides had verified one another, with the first keys.
  package let since: Instant
}

/// How many datagrams were dropped, by reason; for `doctor` and tests.
package struct SessionCounts: Hashable, Sendable {
  /// Wrong size, version, type or zero bytes.
  package internal(set) var malformed = 0
  /// A handshake without a valid mac1: strangers, or another epoch.
  package internal(set) var foreign = 0
  /// A session index that we don't know, or not in that stage.
  package internal(set) var unknown = 0
  /// A counter seen before or too old.
  package internal(set) var replayed = 0
  /// A wrong tag or signature.
  package internal(set) var forged = 0
  /// Authentic content that can't be read, or comes before its time.
  package internal(set) var unusable = 0
  /// Refused by a rate or a limit.
  package internal(set) var flooded = 0
  /// Not done because the entropy pool, the slab or a queue was exhausted.
  package internal(set) var starved = 0

  /// Nothing dropped.
  package init() {}
}
