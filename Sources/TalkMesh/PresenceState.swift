package import TalkCore
import TalkWire

/// What this node says of itself in every presence.
package struct OwnStatus: Equatable, Sendable {
  /// The digest of our roster of the channel.
  package var rosterDigest: Bytes16
  /// Our person wants to hear nothing.
  package var isDeaf: Bool
  /// We have something to speak into.
  package var hasMicrophone: Bool

  /// Makes a status of its parts.
  package init(rosterDigest: Bytes16, isDeaf: Bool, hasMicrophone: Bool) {
    self.rosterDigest = rosterDigest
    self.isDeaf = isDeaf
    self.hasMicrophone = hasMicrophone
  }
}

/// What presence tells the node.
package enum PresenceEvent: Equatable, Sendable {
  /// The peer came or went: the list of members changes.
  case changed(PeerID, isPresent: Bool)
  /// Worth a line for the person; at most one per peer in five minutes.
  case notice(PeerID, isPresent: Bool)
}

/// What is known of one peer of a channel, both directions apart.
package struct PresenceView: Equatable, Sendable {
  /// Who.
  package var peer: PeerID
  /// Something authenticated came lately.
  package var isPresent: Bool
  /// The peer's newest presence says that it hears us, and that presence is not old.
  package var hearsMe: Bool
  /// We hear the peer.
  package var iHear: Bool
  /// The smoothed round-trip time (RFC 6298, gain 1/8); nil before it was measured.
  package var roundTrip: Duration?
  /// The part of our last presences that the peer missed, 0 to 1; nil before it told.
  package var lossTo: Double?
  /// The part of the peer's last presences that we missed, 0 to 1; nil before one came.
  package var lossFrom: Double?
  /// The peer plays nothing, by its person's wish.
  package var isDeaf: Bool
  /// The peer has something to speak into.
  package var hasMicrophone: Bool
  /// When something authenticated last came.
  package var lastHeard: Instant
  /// The digest of the peer's roster; nil before it told.
  package var rosterDigest: Bytes16?
  /// Seconds since the peer started, when it last told.
  package var uptime: UInt32
}

/// How many of the last 32 presences of a session came.
struct ReceptionWindow: Equatable, Sendable {
  /// The newest sequence number; nil before the first.
  private(set) var newest: UInt32?
  private var bits: UInt32 = 0
  /// How many were looked for, at most 32.
  private(set) var expected: UInt8 = 0

  /// How many of them came.
  var received: UInt8 { UInt8(bits.nonzeroBitCount) }

  /// Counts a sequence number; true when it is the newest so far.
  mutating func note(_ sequence: UInt32) -> Bool {
    guard let newest else {
      // Sequences start at 0 with the session, so what came before this one is lost or late.
      self.newest = sequence
      bits = 1
      expected = UInt8(min(UInt64(sequence) + 1, 32))
      return true
    }
    let step = Int32(bitPattern: sequence &- newest)
    guard step > 0 else {
      if step > -32 { bits |= 1 << UInt32(-step) & mask }
      return false
    }
    self.newest = sequence
    bits = step < 32 ? bits << UInt32(step) | 1 : 1
    expected = UInt8(min(Int(expected) + Int(step), 32))
    return true
  }

  /// Bits that may be set: a late presence from before what is looked for does not count.
  private var mask: UInt32 { expected >= 32 ? .max : 1 << UInt32(expected) - 1 }
}

/// All that `Presence` keeps of one peer: plain values, changed in place.
struct PeerPresence: Sendable {
  var isConnected = true
  var isPresent = false
  var lastHeard: Instant

  var sequence: UInt32 = 0
  var nextSend: Instant
  var lastSend: Instant?
  /// Askings sent since something last came.
  var unanswered = 0
  var wantsAnswer = false
  /// The next presence is owed: a first one, an answer, or an asking.
  var isUrgent = true

  var window = ReceptionWindow()
  var theirSentAt: UInt32 = 0
  var theirArrival: Instant?
  var roundTrip: Int64?
  /// When a presence that says "I hear you" last came; nil once the newest says otherwise.
  var heardMe: Instant?
  var toReceived: UInt8 = 0
  var toExpected: UInt8 = 0
  var flags: PresenceBody.Flags = []
  var rosterDigest: Bytes16?
  var uptime: UInt32 = 0

  var noticedAt: Instant?
  var noticedPresent = false

  init(now: Instant) {
    lastHeard = now
    nextSend = now
  }

  /// A session is up, the first or another one: its sequences start anew.
  mutating func connect(now: Instant) {
    isConnected = true
    lastHeard = now
    nextSend = now
    lastSend = nil
    sequence = 0
    unanswered = 0
    wantsAnswer = false
    isUrgent = true
    window = ReceptionWindow()
    theirArrival = nil
    heardMe = nil
    toReceived = 0
    toExpected = 0
  }

  /// A measured round trip above this is a mistake or a lie.
  private static let longestRoundTrip: UInt32 = 60_000_000

  /// Takes over what the newest presence of the peer says.
  mutating func take(_ body: PresenceBody, now: Instant) {
    theirSentAt = body.sentAt
    theirArrival = now
    heardMe = body.flags.contains(.hearsYou) ? now : nil
    flags = body.flags
    toReceived = body.received
    toExpected = body.expected
    rosterDigest = body.rosterDigest
    uptime = body.uptime
    guard body.flags.contains(.hasEcho) else { return }
    let sample = now.microseconds &- body.echo &- body.echoDelay
    guard sample <= Self.longestRoundTrip else { return }
    let nanoseconds = Int64(sample) * 1_000
    let before = roundTrip ?? nanoseconds
    roundTrip = before + (nanoseconds - before) / 8
  }
}

extension Instant {
  /// The low 32 bits of this instant in microseconds, as presences carry it.
  var microseconds: UInt32 { UInt32(truncatingIfNeeded: nanoseconds / 1_000) }
}
