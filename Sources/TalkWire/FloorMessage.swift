package import TalkCore

/// One waiting talker, as the queue is replicated: 27 bytes (class 1, request 8, peer 16, seat 2).
package struct QueueEntry: Hashable, Sendable {
  /// The class that was asked for.
  package var floorClass: FloorClass
  /// The newest request of this talker.
  package var request: UInt64
  /// Who waits.
  package var peer: PeerID
  /// The speaker behind the peer.
  package var seat: UInt16

  /// Makes an entry.
  package init(floorClass: FloorClass, request: UInt64, peer: PeerID, seat: UInt16) {
    self.floorClass = floorClass
    self.request = request
    self.peer = peer
    self.seat = seat
  }
}

/// Why a request was refused; told to the person who pressed.
package enum DenyReason: UInt8, Sendable, CaseIterable {
  /// Sixteen others wait already.
  case queueFull = 1
  /// The roster lets this member only listen.
  case listenOnly = 2
  /// The roster does not allow this class to this member.
  case classRefused = 3
  /// The channel is strict, and the holder or keeper hears no majority of its roster.
  case minority = 4
}

/// A request for the floor.
///
/// Body 100 bytes: request 8, requester 16, seat 2, class 1, spread 1, counter 6, attempt 2,
/// signature 64. The requester is the sender's identity unless a member forwards; then the
/// signature proves it: Ed25519 by the requester over "talkaround request v1" ‖ channel ‖ request ‖ requester
/// ‖ seat ‖ class. So no member can ask, or stop a talker, in another's name.
package struct FloorRequest: Hashable, Sendable {
  /// How a request travels.
  package enum Spread: UInt8, Sendable {
    /// To the holder or keeper alone.
    case direct = 0
    /// To everyone: who cannot grant answers or forwards.
    case everyone = 1
    /// A member passes it on to the keeper of record.
    case forwarded = 2
  }

  /// Names the request; the same over its repeats.
  package var request: UInt64
  /// Who asks.
  package var requester: PeerID
  /// The speaker behind the requester.
  package var seat: UInt16
  /// The class that is asked for.
  package var floorClass: FloorClass
  /// How it travels.
  package var spread: Spread
  /// The requester's own highest turn, so that the new turn is above it.
  package var counter: UInt64
  /// Which repeat this is, so that each finds another sample of the members to answer it.
  package var attempt: UInt16
  /// The requester's signature; all zeros until it is signed.
  package var signature = Signature64.zero

  /// Makes a request that is not signed yet.
  package init(
    request: UInt64, requester: PeerID, seat: UInt16, floorClass: FloorClass, spread: Spread,
    counter: UInt64, attempt: UInt16 = 0
  ) {
    self.request = request
    self.requester = requester
    self.seat = seat
    self.floorClass = floorClass
    self.spread = spread
    self.counter = counter
    self.attempt = attempt
  }

  /// The bytes that are signed, on `channel`: what stays the same over repeats and forwarding.
  package func signedBytes(channel: ChannelID) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.domain.count + 16 + 8 + 16 + 2 + 1)
    var span = bytes.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    writer.bytes(Self.domain)
    writer.bytes16(channel.value)
    writer.u64(request)
    writer.bytes16(requester.value)
    writer.u16(seat)
    writer.u8(floorClass.rawValue)
    return bytes
  }

  private static let domain = Array("talkaround request v1".utf8)
}

/// A floor message, named as in 3GPP TS 24.380 where that has the word (floor.md).
///
/// | message | body |
/// |---|---|
/// | request | `FloorRequest` |
/// | grant | chain count 1 (1–3), grants 122 each (newest last), queue |
/// | taken | talking 1, token 25, chain count 1 (0–3), grants, queue |
/// | deny | request 8, seat 2, reason 1 |
/// | queue | asking 1, token 25, queue |
/// | release | token 25, last frame 4 |
/// | heartbeat | token 25, talking 1, previous token 25, queue digest 4 |
/// | cancel | request 8, requester 16, seat 2 |
/// | vacant | request 8, highest turn 6, has token 1, token 25 |
/// | alive | request 8, token 25, age in ms 2 |
/// | none, unreached | request 8, highest turn 6 |
/// | stale | token 25, idle 1, age in ms 2, highest turn 6 |
/// | fence | token 25 |
///
/// A queue is count 1 (at most 16) and that many entries.
package enum FloorMessage: Hashable, Sendable {
  /// Asks for the floor.
  case request(FloorRequest)
  /// Passes the floor on, with the chain of grants that leads to it and the queue.
  case grant(chain: [Grant], queue: [QueueEntry])
  /// Says who has the floor.
  case taken(token: Token, talking: Bool, chain: [Grant], queue: [QueueEntry])
  /// Refuses a request.
  case deny(request: UInt64, seat: UInt16, reason: DenyReason)
  /// The queue as the holder of `token` has it; `asking` wants it told.
  case queue(asking: Bool, token: Token, entries: [QueueEntry])
  /// The holder lets go; `lastFrame` is the burst's last frame, 0 when it had none.
  case release(token: Token, lastFrame: UInt32)
  /// The holder or keeper is there.
  case heartbeat(token: Token, talking: Bool, previous: Token, queueDigest: UInt32)
  /// The requester no longer wants the floor.
  case cancel(request: UInt64, requester: PeerID, seat: UInt16)
  /// Up for a lease, and heard no talker for a lease.
  case vacant(request: UInt64, highestTurn: UInt64, token: Token?)
  /// Hears the holder of `token`; `age` in ms since its last first-hand packet.
  case alive(request: UInt64, token: Token, age: UInt16)
  /// Has no token, is no longer keeper, or says that the asker is the keeper.
  case none(request: UInt64, highestTurn: UInt64)
  /// Forwarded the request, and the keeper did not answer.
  case unreached(request: UInt64, highestTurn: UInt64)
  /// The token is over, `age` in ms since that was learnt; `idle` when nobody else talks here.
  case stale(token: Token, idle: Bool, age: UInt16, highestTurn: UInt64)
  /// A fenced holder asks whether its token stands.
  case fence(token: Token)

  /// The most talkers that wait (floor.md).
  package static let queueLimit = 16
  /// The most grants in a chain (floor.md).
  package static let chainLimit = 3
  /// The longest body: a taken with a full chain and a full queue.
  package static let bodyLimit =
    1 + Token.size + 1 + chainLimit * Grant.size + 1 + queueLimit * 27

  /// The kind that this message travels as.
  package var kind: Kind {
    switch self {
    case .request: .request
    case .grant: .grant
    case .taken: .taken
    case .deny: .deny
    case .queue: .queue
    case .release: .release
    case .heartbeat: .heartbeat
    case .cancel: .cancel
    case .vacant: .vacant
    case .alive: .alive
    case .none: .none
    case .unreached: .unreached
    case .stale: .stale
    case .fence: .fence
    }
  }
}
