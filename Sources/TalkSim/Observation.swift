package import TalkCore
package import TalkFloor
package import TalkWire

/// What of a control message the checkers look at: plain values, so that an observation costs no
/// memory.
package struct ControlNote: Sendable {
  /// An answer's own kind.
  package enum Answer: UInt8, Sendable {
    /// None of the below.
    case other
    /// Heard no talker for a lease.
    case vacant
    /// Hears the holder.
    case alive
    /// Has no token.
    case none
    /// Could not reach the keeper.
    case unreached
    /// The token is over.
    case stale
    /// Asks whether its own token stands.
    case fence
  }

  /// What it is for.
  package var kind: ControlKind
  /// What it answers.
  package var answer = Answer.other
  /// The token it speaks of.
  package var token: Token?
  /// True when it says that the token's holder talks.
  package var talking = false
  /// The token that its newest grant passes on.
  package var grantFrom: Token?
  /// The token that its newest grant makes.
  package var grantTo: Token?
  /// The request it asks, grants, denies or answers; 0 for none.
  package var request: UInt64 = 0
  /// Who asks in it.
  package var requester: PeerID?

  /// A note of this kind and nothing more.
  package init(kind: ControlKind) { self.kind = kind }
}

/// Something that happened at one node, as one who sees everything would note it.
package struct Observation: Sendable {
  /// When, on the world's own clock.
  package var at: Instant
  /// Where, by the node's number.
  package var node: Int
  /// What.
  package var what: What

  /// What can happen.
  package enum What: Sendable {
    /// The person presses; the talk itself is to last this long from the grant.
    case keyDown(FloorClass, talk: Duration)
    /// The person lets go.
    case keyUp
    /// The node's floor was told of the press.
    case pressed(FloorClass)
    /// The node's floor was told of the release.
    case released
    /// Our burst starts.
    case started(Token)
    /// Our burst goes on under a new token.
    case renumbered(from: TokenID, to: Token)
    /// Our burst ended.
    case stopped(Token, StopReason)
    /// Our burst's tail begins.
    case finishing(Token)
    /// A frame of our burst left; `burst` counts the node's bursts.
    case frameSent(Token, frame: UInt32, isLast: Bool, burst: UInt32)
    /// A frame came: the token it is rendered under, if it is.
    case heard(VoiceMark, from: Int, rendered: TokenID?)
    /// The talker goes on under another token.
    case talkerRenumbered(TokenID, to: Token)
    /// Somebody talks.
    case talker(Token)
    /// The talker is done.
    case talkerDone(Token, lastFrame: UInt32)
    /// The talker was cut.
    case talkerCut(Token)
    /// Our press waits.
    case queued(place: Int)
    /// Our press was refused.
    case denied(DenyReason)
    /// Our press found nobody.
    case unheard(UnheardReason)
    /// The limit is near.
    case limitWarning
    /// A control message left, to one peer or to all.
    case sent(ControlNote, toAll: Bool)
    /// A control message came.
    case received(ControlNote, from: Int)
    /// A presence came; `hearsUs` is what it says.
    case presence(from: Int, hearsUs: Bool)
    /// A member came or went, in the eyes of this node's sessions.
    case member(Int, present: Bool)
    /// The node died without a word.
    case crashed
    /// It started again, with turns reserved up to this one.
    case restarted(reserved: UInt64)
    /// Its loop stands still.
    case stalled
    /// Its loop runs again, this late.
    case resumed(late: Duration)
    /// Its floor was told so, and adds that much to the leases of others.
    case excused(Duration)
    /// It wants turns persisted.
    case reserving(through: UInt64)
    /// They are on disk, and the node knows.
    case reserved(through: UInt64)
    /// The way from this node to another was cut.
    case linkDown(to: Int)
    /// The way from this node to another is whole again.
    case linkUp(to: Int)
    /// How the floor stands in this node's eyes; noted now and then.
    case view(PartyView)
    /// A lying node sent something that it may not, numbered by its kind.
    case lied(UInt8)
    /// The run's workload and faults are over: what follows must come to rest.
    case draining
  }

  /// Makes an observation.
  package init(at: Instant, node: Int, what: What) {
    self.at = at
    self.node = node
    self.what = what
  }
}

/// Takes what happens, in order.
package protocol ObservationSink {
  /// Takes the next observation.
  mutating func take(_ observation: Observation)
  /// True once nothing more needs to happen, as after a violation.
  var isSatisfied: Bool { get }
}
