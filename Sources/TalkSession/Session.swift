import TalkCore
import TalkCrypto
import TalkWire

/// One handshake and the keys that it made, known to the peer by `localIndex`.
final class Session {
  enum Stage {
    /// We sent INIT.
    case initiating
    /// We sent RESP.
    case responding
    /// There are keys; who is there is being proved, both ways.
    case verifying
    /// A link's session: its current one, or one that still receives.
    case established
  }

  let localIndex: UInt32
  let channel: ChannelID
  let role: NoiseRole
  /// When INIT was sent or came.
  let created: Instant
  /// mac1 of the INIT: tells copies of it.
  let initiationMac: Bytes16
  var stage: Stage
  var endpoint: Endpoint
  /// When the session goes, whatever happens; later stages move it.
  var expires: Instant
  /// Zero until the peer told it.
  var remoteIndex: UInt32 = 0
  /// There until the keys are.
  var handshake: NoiseHandshake?
  /// The RESP or FINAL that we sent: copies of its cause get these bytes again, never new ones.
  var answer: [UInt8] = []
  /// mac1 of the RESP that was answered.
  var responseMac: Bytes16?
  var transport: TransportKeys?
  var handshakeHash: [UInt8] = []
  var remoteStatic: Key32?
  var introduction: Introduction?
  /// True once the node accepted the introduction.
  var accepted = false
  var repeatAt: Instant?
  var repeats = 0
  var link: LinkID?
  var keysAt = Instant.zero
  var promotedAt = Instant.zero
  var lastReceived = Instant.zero
  /// When, and at which counter of either side, the initiator makes new keys.
  var rekeyAt = Instant.distantFuture
  var rekeyCounter = UInt64.max
  /// True for the one of two crossed sessions that is not sent on.
  var isCrossedSpare = false

  init(
    localIndex: UInt32, channel: ChannelID, role: NoiseRole, created: Instant,
    initiationMac: Bytes16, endpoint: Endpoint, handshake: NoiseHandshake
  ) {
    self.localIndex = localIndex
    self.channel = channel
    self.role = role
    self.created = created
    self.initiationMac = initiationMac
    self.endpoint = endpoint
    self.handshake = handshake
    stage = role == .initiator ? .initiating : .responding
    expires = created + SessionLimits.halfOpenTime
  }

  /// True for a handshake of somebody who has not proved to be a peer.
  var isHalfOpen: Bool { role == .responder && stage != .established }

  /// Takes the keys of the finished handshake; false if they can't be had.
  func takeKeys(now: Instant) -> Bool {
    guard let handshake, let keys = handshake.split() else { return false }
    handshakeHash = handshake.handshakeHash
    remoteStatic = handshake.remoteStatic
    transport = TransportKeys(
      sending: keys.sending, receiving: keys.receiving, remoteIndex: remoteIndex)
    self.handshake = nil
    stage = .verifying
    keysAt = now
    expires = now + SessionLimits.verifyTime
    return true
  }

  /// What AUTH's signature covers: "talkaround auth v1" ‖ role ‖ handshake hash ‖ both static keys
  /// ‖ both indices ‖ channel ‖ epoch, the initiator's first.
  func signedText(by signer: NoiseRole, ours: Key32, epoch: UInt64) -> [UInt8] {
    let theirs = remoteStatic?.bytes ?? []
    let isInitiator = role == .initiator
    var text = Array("talkaround auth v1".utf8)
    text.append(signer.rawValue)
    text += handshakeHash
    text += isInitiator ? ours.bytes + theirs : theirs + ours.bytes
    let indices = isInitiator ? [localIndex, remoteIndex] : [remoteIndex, localIndex]
    for index in indices {
      text += (0..<4).map { UInt8(truncatingIfNeeded: index >> UInt32(8 * $0)) }
    }
    text += channel.value.bytes
    text += (0..<8).map { UInt8(truncatingIfNeeded: epoch >> UInt64(8 * $0)) }
    return text
  }
}

/// An established peer in one channel.
final class Link {
  let id: LinkID
  let introduction: Introduction
  let since: Instant
  var endpoint: Endpoint
  /// What we send with.
  var current: Session
  /// Replaced or crossed sessions that still receive, oldest first.
  var spares: [Session] = []
  var lastReceived: Instant

  init(id: LinkID, introduction: Introduction, current: Session, now: Instant) {
    self.id = id
    self.introduction = introduction
    self.current = current
    since = now
    endpoint = current.endpoint
    lastReceived = now
  }
}

/// A peer in a channel, as a key.
struct PeerKey: Comparable {
  var channel: ChannelID
  var peer: PeerID

  static func < (left: PeerKey, right: PeerKey) -> Bool {
    (left.channel, left.peer) < (right.channel, right.peer)
  }
}

/// An endpoint in a channel, as a key.
struct DialKey: Comparable {
  var channel: ChannelID
  var endpoint: Endpoint

  static func < (left: DialKey, right: DialKey) -> Bool {
    (left.channel, left.endpoint) < (right.channel, right.endpoint)
  }
}

/// An endpoint that we send INITs to.
struct Dial {
  /// The link that needs new keys; nil for a first contact.
  var link: LinkID?
  /// The boot instance that a HELLO told, if that was the reason.
  var boot: UInt64?
  var next: Instant
  let giveUp: Instant
  var attempt = 0
  /// How many more INITs may be sent.
  var left: Int
  /// Sessions of the newest attempts.
  var sessions: [UInt32] = []
}

/// What a table knows of a channel.
struct SessionChannel {
  let epoch: UInt64
  let keys: ChannelKeys
  let prologue: [UInt8]
  var chain: [[UInt8]] = []
  var joining = false
  var rosterDigest = Bytes16.zero
  var isInBurst = false
}
