package import TalkStore
package import TalkWire

/// What a client of the control socket asks of the node; checked, so every value is within its
/// stated bounds.
package enum ControlRequest: Hashable, Sendable {
  /// Make a channel of this name and join it as its creator; on a strict one the floor needs a
  /// majority of the roster. Answer: `channel`.
  case channelCreate(name: String, strict: Bool)
  /// Every channel. Answer: `channels`.
  case channelList
  /// One channel by name or UUID; nil is the current one. Answer: `channel`.
  case channelShow(String?)
  /// Talk on that channel from now on. Answer: `channel`.
  case channelUse(String)
  /// Leave that channel and forget it. Answer: `done`.
  case channelLeave(String)
  /// Open the admit window of a channel; nil is the current one. Answer: `invite`.
  case invite(channel: String?, lifetime: Duration, joiners: Int)
  /// Join by an invite's text. Answer: `channel`, which may still wait to be admitted.
  case join(invite: InviteText)
  /// Who is known on a channel; nil is the current one. Answer: `members`.
  case members(String?)
  /// Change what the roster allows a member, by nickname or the start of its id; admins may.
  /// Answer: `members`.
  case membersSet(channel: String?, member: String, change: RightsChange)
  /// The client's key is down; sent again at 5 Hz while it is. Answer to a request that has an id:
  /// `floor`, at once.
  case talkHold(FloorClass)
  /// Set the node's latch; idempotent. Answer: `floor`, once it is granted, queued or refused.
  case talkPress(FloorClass)
  /// Let go of the client's key and the node's latch; idempotent. Answer: `floor`.
  case talkRelease
  /// Set the latch, or let go of it. Answer: `floor`, as for press and release.
  case talkToggle(FloorClass)
  /// Speak what a sound file holds. Answer, at the end: `heard`.
  case talkFile(path: String, FloorClass)
  /// Everything. Answer: `status`.
  case status
  /// The sound devices. Answer: `devices`.
  case devices
  /// End the node. Answer: `done`, before the end.
  case stop
}

/// What is to be changed of a member's rights; what is nil or in neither set stays.
package struct RightsChange: Hashable, Sendable {
  /// The words for a member's role, as clients give them.
  package enum Role: String, Hashable, Sendable, CaseIterable {
    /// May admit admins, grant classes and set listen-only.
    case admin
    /// Speaks, and admits members.
    case member
    /// Hears, and never speaks.
    case listenOnly = "listen-only"
  }

  /// The new role.
  package var role: Role?
  /// Classes that the member may speak with from now on.
  package var granted: Set<FloorClass>
  /// Classes that it may not speak with any more.
  package var withdrawn: Set<FloorClass>

  /// Makes a change of its parts.
  package init(
    role: Role? = nil, granted: Set<FloorClass> = [], withdrawn: Set<FloorClass> = []
  ) {
    self.role = role
    self.granted = granted
    self.withdrawn = withdrawn
  }
}

/// An invite on its way through the control socket: a secret that no description shows.
package struct InviteText: Hashable, Sendable, CustomStringConvertible {
  /// The UTF-8 of the text, wiped when the last holder lets go.
  package let secret: SecretBytes

  /// Keeps a text; the caller wipes its own copy.
  package init(_ text: String) { secret = SecretBytes(Array(text.utf8)) }

  /// The text itself: drop it soon.
  package var text: String {
    var bytes = secret.copy()
    defer { SecretBytes.wipe(&bytes) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Nothing of the text.
  package var description: String { "invite" }

  /// Feeds no more than the length, so that no hash tells of the text.
  package func hash(into hasher: inout Hasher) { hasher.combine(secret.count) }
}

/// Bounds of what a client may ask.
package enum ControlLimits {
  /// The most bytes of one line, its end left out.
  package static let lineSize = 64 * 1_024
  /// The most clients at once.
  package static let clients = 32
  /// The most requests of one client that wait for an answer; more are read when some are answered.
  package static let waitingRequests = 16
  /// The most bytes that may wait to be read by one client; a slower one is dropped. A status with
  /// 1,024 members takes about a quarter of it.
  package static let unreadSize = 1 << 20
  /// The most events between the node's loop and the socket's thread; further ones are lost, and
  /// `seq` shows it.
  package static let waitingEvents = 4_096
  /// The most bytes of a name or path in a request.
  package static let textSize = 4_096
  /// How long an admit window may stay open, in seconds.
  package static let inviteSeconds = 10...86_400
  /// How long it stays open unless told otherwise, in seconds (session.md: ten minutes).
  package static let inviteDefaultSeconds = 600
  /// How many may be admitted in one window.
  package static let inviteJoiners = 1...64
}
