package import TalkCore
import TalkCrypto
import TalkFloor
import TalkWire

/// The members of a simulated channel: identities and rights that follow from the seed.
struct Membership {
  let identities: [Identity]
  let rights: [FloorMember]
  let seed: UInt64

  /// Draws `count` members; all but a part may use every class.
  init(count: Int, mix: FaultMix, seed: UInt64) {
    self.seed = seed
    var generator = SeededGenerator(seed: seed ^ 0x4d45_4d42_4552_0001)
    identities = (0..<count).map { index in
      let bytes = (0..<32).map { UInt8(truncatingIfNeeded: index >> (($0 % 2) * 8)) }
      return Identity.forSimulation(seed: bytes, salt: seed)
    }
    rights = identities.enumerated().map { index, identity in
      var maySpeak = true
      var classes: UInt8 = 0b1111
      if index > 0, generator.chance(mix.restricted) {
        maySpeak = generator.chance(0.7)
        classes = generator.chance(0.5) ? 0b0001 : 0b0011
      }
      return FloorMember(
        signingKey: identity.publicIdentity.signing, maySpeak: maySpeak, classes: classes)
    }
  }

  /// What each party starts with.
  func setups(now: Instant) -> [PartySetup] {
    identities.indices.map { own in
      let members = identities.indices.filter { $0 != own }.map { other in
        PartyMember(peer: identities[other].publicIdentity.peerID, rights: rights[other])
      }
      return PartySetup(
        identity: identities[own], channel: ChannelID(Bytes16(high: 1, low: seed)),
        timers: FloorTimers(), members: members, rights: rights[own], reservedTurn: 0,
        firstRequest: 1 << 32, isFirstKeeper: own == 0, seed: seed &+ UInt64(own) &* 0x9e37,
        now: now)
    }
  }
}

/// Finds a node's number by its peer id: a hash table with linear probing, since the look-up is on
/// the path of every message.
package struct PeerIndex: Sendable {
  private var slots: [Int32]
  private let peers: [PeerID]
  private let mask: Int

  /// An index of these peers, numbered in their order.
  package init(_ peers: [PeerID]) {
    var size = 16
    while size < peers.count * 3 { size *= 2 }
    slots = Array(repeating: -1, count: size)
    mask = size - 1
    self.peers = peers
    for (number, peer) in peers.enumerated() {
      var slot = Int(truncatingIfNeeded: peer.value.low) & mask
      while slots[slot] >= 0 { slot = (slot + 1) & mask }
      slots[slot] = Int32(number)
    }
  }

  /// The number of a peer; nil for a stranger.
  package subscript(peer: PeerID) -> Int? {
    var slot = Int(truncatingIfNeeded: peer.value.low) & mask
    while slots[slot] >= 0 {
      let number = Int(slots[slot])
      if peers[number] == peer { return number }
      slot = (slot + 1) & mask
    }
    return nil
  }
}
