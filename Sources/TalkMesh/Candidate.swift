package import TalkCore

/// Who told us of an endpoint, the most telling first.
package enum CandidateSource: UInt8, Comparable, Sendable, CaseIterable {
  /// The person's configuration.
  case staticPeer
  /// A HELLO of a member, from that very address.
  case hello
  /// A service record with our channel's tag.
  case mdns
  /// A session of an earlier run.
  case remembered
  /// Another member's HELLO: hearsay.
  case exchange

  /// Orders by how telling a source is, the most telling first.
  package static func < (left: CandidateSource, right: CandidateSource) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// How near an endpoint is by our own addresses, the nearest first.
package enum CandidateRank: UInt8, Comparable, Sendable {
  /// In the subnet of one of our links, or link-local on one.
  case onLink
  /// Somewhere that a router must bring us.
  case routed
  /// In the subnet of a container or bridge link of ours: most often a copy of a better way.
  case container

  /// Orders the nearest first.
  package static func < (left: CandidateRank, right: CandidateRank) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// One address of one of our links, as the shell reads it from the kernel.
package struct LinkAddress: Equatable, Sendable {
  /// The interface's index.
  package var interface: UInt32
  /// Our address; an IPv4 address is held as ::ffff:a.b.c.d.
  package var address: Bytes16
  /// The length of the subnet's prefix, counted in its own family: 0 to 32 or 0 to 128.
  package var prefixLength: UInt8
  /// True for a bridge, or a link that only containers and virtual machines are behind.
  package var isContainer: Bool

  /// Makes the address of its parts.
  package init(interface: UInt32, address: Bytes16, prefixLength: UInt8, isContainer: Bool) {
    self.interface = interface
    self.address = address
    self.prefixLength = prefixLength
    self.isContainer = isContainer
  }

  /// Whether `endpoint` is in this subnet (and on this link, when it is link-local).
  package func contains(_ endpoint: Endpoint) -> Bool {
    let ours = Endpoint(address: address, port: 0)
    guard (ours.ipv4 == nil) == (endpoint.ipv4 == nil) else { return false }
    if endpoint.isLinkLocal || ours.isLinkLocal {
      return endpoint.isLinkLocal && ours.isLinkLocal && endpoint.scope == interface
    }
    let length = min(Int(prefixLength) + (ours.ipv4 == nil ? 0 : 96), 128)
    // A Swift shift by the whole width gives 0, which is the mask of an empty prefix.
    let high = UInt64.max << UInt64(64 - min(length, 64))
    let low = length <= 64 ? 0 : UInt64.max << UInt64(128 - length)
    let other = endpoint.address
    return (address.high ^ other.high) & high == 0 && (address.low ^ other.low) & low == 0
  }
}

/// Why the table takes no notice of an endpoint. None of them needs more than a count.
package enum CandidateRefusal: Error, Equatable, Sendable {
  /// The source named no unicast address, or port 0: nothing can be sent there.
  case notUnicast
  /// A link-local address without its interface; the source must name it (`%eth0`).
  case noInterface
  /// It is this node itself.
  case ourselves
  /// Hearsay that is too old, or of an address that means nothing on another link.
  case hearsay
  /// The table is full of endpoints that are no worse; the peer can still reach us.
  case full
}

/// Where to start a handshake now, and how hard to try.
package struct Dial: Equatable, Sendable {
  /// The channel to greet for.
  package var channel: ChannelID
  /// Where to.
  package var endpoint: Endpoint
  /// The most INITs of this dial (session.md: three for an accepted HELLO).
  package var inits: Int
  /// Who answered there before, if somebody did; a hint, AUTH decides.
  package var knownAs: PeerID?
}

/// An endpoint where a member proved itself: what the store remembers for the next run.
package struct KnownPath: Equatable, Sendable {
  /// Who is there.
  package var peer: PeerID
  /// Where.
  package var endpoint: Endpoint
  /// When the member last proved itself there.
  package var provedAt: Instant
}

/// The key of a candidate: the same endpoint may be tried for several channels.
struct CandidateKey: Comparable, Sendable {
  var channel: ChannelID
  var endpoint: Endpoint

  static func < (left: CandidateKey, right: CandidateKey) -> Bool {
    (left.channel, left.endpoint) < (right.channel, right.endpoint)
  }
}

/// The key of a session: one identity in one channel.
struct MemberKey: Comparable, Sendable {
  var channel: ChannelID
  var peer: PeerID

  static func < (left: MemberKey, right: MemberKey) -> Bool {
    (left.channel, left.peer) < (right.channel, right.peer)
  }
}

/// What the table knows of one endpoint in one channel.
struct Candidate: Sendable {
  /// Bit n is set when the source of raw value n named it.
  var sources: UInt8
  var rank: CandidateRank
  /// Who proved itself here by AUTH.
  var identity: PeerID?
  /// Who is said or believed to be here, without proof.
  var claimed: PeerID?
  var bootInstance: UInt64?
  var lastSeen: Instant
  /// Dials since the last proof.
  var dials = 0
  var lastDial: Instant?
  var nextDial: Instant

  var isStatic: Bool { has(.staticPeer) }

  func has(_ source: CandidateSource) -> Bool { sources & 1 << source.rawValue != 0 }

  /// The most telling of its sources; hearsay when none is left.
  var source: CandidateSource {
    CandidateSource.allCases.first(where: has) ?? .exchange
  }
}

/// A session that is up.
struct SessionPath: Sendable {
  var endpoint: Endpoint
  var bootInstance: UInt64?
  var works: Bool
}
