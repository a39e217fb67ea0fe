package import TalkCore
package import TalkCrypto
package import TalkFloor
package import TalkWire

/// What a marked voice frame says, in place of sound.
package struct VoiceMark: Hashable, Sendable {
  /// The number of the holding, as its token had it when the frame left.
  package var turn: UInt64
  /// The speaker behind the sender.
  package var seat: UInt16
  /// The class of the burst.
  package var floorClass: FloorClass
  /// The number of the frame in the burst, from 1; it goes on over a renumbering.
  package var frame: UInt32
  /// True for the last frame of the burst.
  package var isLast: Bool
  /// How many bursts the sender has begun in this run: for the checkers alone. A party must not
  /// decide by it, since no frame on a real network carries it.
  package var burst: UInt32

  /// Makes a mark of its parts.
  package init(
    turn: UInt64, seat: UInt16, floorClass: FloorClass, frame: UInt32, isLast: Bool, burst: UInt32
  ) {
    self.turn = turn
    self.seat = seat
    self.floorClass = floorClass
    self.frame = frame
    self.isLast = isLast
    self.burst = burst
  }
}

/// What a party wants done, in order: the effects that the shipped node performs, with the message
/// type left open so that another protocol can sit in the same world.
package enum PartyEffect<Message: Sendable>: Sendable {
  /// Send a message to one peer or to all that are present.
  case send(Message, to: FloorAudience)
  /// The press was granted: frames leave under this token, the first one at once.
  case startTransmit(Token)
  /// The burst goes on under a new turn, without a break in its frames.
  case renumberTransmit(Token)
  /// No more frames leave.
  case stopTransmit(Token, StopReason)
  /// The key went up: one last frame leaves, marked as the last, then `transmitFinished` is called.
  case finishTransmit(Token)
  /// The talker of the first token goes on without a break under the second.
  case talkerRenumbered(Token, to: Token)
  /// Somebody else talks under this token.
  case talker(Token)
  /// The talker is done; what is buffered may play on up to `lastFrame`, `.max` when unknown.
  case talkerDone(Token, lastFrame: UInt32)
  /// The talker must not be heard any more, not even what is buffered.
  case talkerCut(Token)
  /// The press waits; places count from 1.
  case queued(place: Int)
  /// The press was refused.
  case denied(DenyReason)
  /// The press found nobody who hears us.
  case unheard(UnheardReason)
  /// The talk limit is near.
  case limitWarning
  /// Persist that turns up to this one may be used, then call `turnsReserved`.
  case reserveTurns(through: UInt64)
}

/// What a control message is for, as far as the checkers ask.
package enum ControlKind: UInt8, Hashable, Sendable, CaseIterable {
  /// Asks for the floor.
  case request
  /// Gives it.
  case grant
  /// Says who has it.
  case taken
  /// Refuses it.
  case deny
  /// Tells or asks for the queue.
  case queue
  /// Lets go of the floor.
  case release
  /// Takes a request back.
  case cancel
  /// Says that the holder or keeper is there: not counted by C1.
  case heartbeat
  /// Answers a request or a talker in any other way.
  case answer
}

/// A member as every party is told of it.
package struct PartyMember: Sendable {
  /// Who.
  package var peer: PeerID
  /// What its roster entry allows it, and its signing key.
  package var rights: FloorMember

  /// Makes a member.
  package init(peer: PeerID, rights: FloorMember) {
    self.peer = peer
    self.rights = rights
  }
}

/// All that a party has when its node starts, for the first time or after a crash.
package struct PartySetup: Sendable {
  /// The node's own identity.
  package var identity: Identity
  /// The channel.
  package var channel: ChannelID
  /// The timers, equal for all members.
  package var timers: FloorTimers
  /// Every member besides the node itself, in a fixed order; nobody is present yet.
  package var members: [PartyMember]
  /// What the roster allows the node itself.
  package var rights: FloorMember
  /// True on a channel where a minority stays silent.
  package var isStrict = false
  /// The turns that may have been used before, as the disk has them.
  package var reservedTurn: UInt64
  /// Requests are numbered from here; never used before by this node.
  package var firstRequest: UInt64
  /// True for the creator of the channel, at its first start only.
  package var isFirstKeeper: Bool
  /// For a party that needs random numbers.
  package var seed: UInt64
  /// The node's clock.
  package var now: Instant

  /// Makes a setup of its parts.
  package init(
    identity: Identity, channel: ChannelID, timers: FloorTimers, members: [PartyMember],
    rights: FloorMember, reservedTurn: UInt64, firstRequest: UInt64, isFirstKeeper: Bool,
    seed: UInt64, now: Instant
  ) {
    self.identity = identity
    self.channel = channel
    self.timers = timers
    self.members = members
    self.rights = rights
    self.reservedTurn = reservedTurn
    self.firstRequest = firstRequest
    self.isFirstKeeper = isFirstKeeper
    self.seed = seed
    self.now = now
  }
}

/// How the floor stands in one party's eyes.
package struct PartyView: Hashable, Sendable {
  /// The token of record, nil before the first.
  package var token: Token?
  /// True while its holder talks, as far as this party knows.
  package var isTalking: Bool
  /// True while the party's own press waits for an answer or in the queue.
  package var isAsking: Bool

  /// Makes a view.
  package init(token: Token?, isTalking: Bool, isAsking: Bool) {
    self.token = token
    self.isTalking = isTalking
    self.isAsking = isAsking
  }
}

/// One member's floor protocol, as a value without I/O: the shipped machine, a broken one that the
/// checkers must catch, or another protocol to compare with.
///
/// Drive it so: after each call perform `nextEffect()` until it is nil, then read `deadline` and
/// call `wake` when it comes. `now` is the node's own clock, which may run fast or slow. While a
/// burst runs, a frame leaves every 20 ms: `mayTransmit` is asked, then `transmitted` is told;
/// after `finishTransmit` the next frame is the last and `transmitFinished` is told.
package protocol FloorParty {
  /// What travels between parties.
  associatedtype Message: Sendable

  /// Starts, or starts again after a crash: nothing is known but the setup.
  init(_ setup: PartySetup)

  /// The key went down.
  mutating func press(_ floorClass: FloorClass, now: Instant)
  /// The key went up.
  mutating func release(now: Instant)
  /// An authenticated message of a member came.
  mutating func receive(_ message: Message, from sender: PeerID, now: Instant)
  /// A marked voice frame came: the token it is rendered under, nil when it is not rendered.
  mutating func hears(_ voice: VoiceMark, from sender: PeerID, now: Instant) -> TokenID?
  /// True when a frame of the own burst may leave now.
  mutating func mayTransmit(now: Instant) -> Bool
  /// A frame of the own burst left.
  mutating func transmitted(frame: UInt32, now: Instant)
  /// The last frame of the own burst left after `finishTransmit`.
  mutating func transmitFinished(lastFrame: UInt32, now: Instant)
  /// Does what is due.
  mutating func wake(now: Instant)
  /// When `wake` wants to be called; nil means never.
  var deadline: Instant? { get }
  /// The next thing to be done; nil when there is none.
  mutating func nextEffect() -> PartyEffect<Message>?

  /// A session with a member came up, or it is away.
  mutating func setPresent(_ peer: PeerID, _ present: Bool, now: Instant)
  /// A member's presence says that it hears us.
  mutating func memberHearsUs(now: Instant)
  /// The node's loop ran late by this much: others are not to blame for the silence.
  mutating func loopWasLate(by lateness: Duration)
  /// The reserve of turns is on disk.
  mutating func turnsReserved(through turn: UInt64)
  /// The reserve of turns could not be persisted.
  mutating func reserveFailed()
  /// The node leaves the channel in good order.
  mutating func leave(now: Instant)

  /// How the floor stands here.
  var view: PartyView { get }
  /// What a message is for.
  static func kind(of message: Message) -> ControlKind
  /// A message in a few words, for traces; `name` gives a peer's name.
  static func describe(_ message: Message, name: (PeerID) -> String) -> String
  /// What of a message the checkers look at.
  static func note(of message: Message) -> ControlNote
  /// A message that a lying member makes up; nil when this protocol has no such lie.
  static func lie(_ lie: Lie) -> Message?
}

extension FloorParty {
  /// What of a message the checkers look at; a party whose messages carry tokens says more.
  package static func note(of message: Message) -> ControlNote {
    ControlNote(kind: kind(of: message))
  }

  /// A message that a lying member makes up; nil when this protocol has no such lie.
  package static func lie(_ lie: Lie) -> Message? { nil }
}
