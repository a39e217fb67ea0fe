/// A member came, went or changed.
public struct MemberEvent: Codable, Hashable, Sendable {
  /// The channel's UUID.
  public var channel: String
  /// The member as it is now.
  public var member: MemberStatus
  /// Why it went; null when nothing need be said.
  @Nullable public var reason: Reason?

  /// An event of its parts.
  public init(channel: String, member: MemberStatus, reason: Reason? = nil) {
    self.channel = channel
    self.member = member
    self.reason = reason
  }
}

/// A sound told the person something.
public struct ToneReport: Codable, Hashable, Sendable {
  /// The channel's UUID; null for the node as a whole.
  @Nullable public var channel: String?
  /// Which, by the names of `NodeTone`.
  public var tone: String
  /// Why it sounded; null when the tone says all.
  @Nullable public var reason: Reason?
  /// Who speaks, for `busy` and `queued`.
  @Nullable public var holder: String?
  /// The nickname of the holder, or of who came or left, as it gave it.
  @Nullable public var name: String?
  /// Our place, for `queued`.
  @Nullable public var place: Int?

  /// An event of its parts.
  public init(
    channel: String?, tone: String, reason: Reason? = nil, holder: String? = nil,
    name: String? = nil, place: Int? = nil
  ) {
    self.channel = channel
    self.tone = tone
    self.reason = reason
    self.holder = holder
    self.name = name
    self.place = place
  }
}

/// A sound device came or went.
public struct DeviceEvent: Codable, Hashable, Sendable {
  /// Which way the sound goes.
  public enum Direction: String, Codable, Hashable, Sendable {
    /// From the microphone.
    case capture
    /// To the loudspeaker.
    case playback
  }

  /// Whether it works.
  public enum State: String, Codable, Hashable, Sendable {
    /// It does.
    case running
    /// It did, and is being tried again.
    case lost
    /// There is none.
    case none
  }

  /// Which way the sound goes.
  public var direction: Direction
  /// Whether it works.
  public var state: State
  /// `pulse:NAME`, `null`, or a file's path; null when there is none.
  @Nullable public var device: String?
  /// Why not, if so.
  @Nullable public var reason: Reason?

  /// An event of its parts.
  public init(direction: Direction, state: State, device: String?, reason: Reason? = nil) {
    self.direction = direction
    self.state = state
    self.device = device
    self.reason = reason
  }
}

/// A way of finding members works, or does not.
public struct DiscoveryEvent: Codable, Hashable, Sendable {
  /// Which way: `avahi`, `hello`, or `static`.
  public var source: String
  /// `running`, `down`, `on` or `off`, as in the status.
  public var state: String
  /// Why not, if so.
  @Nullable public var reason: Reason?

  /// An event of its parts.
  public init(source: String, state: String, reason: Reason? = nil) {
    self.source = source
    self.state = state
    self.reason = reason
  }
}

/// A channel became ready, connecting or unavailable, or was added, removed or made current.
public struct ServiceEvent: Codable, Hashable, Sendable {
  /// The channel's UUID.
  public var channel: String
  /// Its name.
  public var name: String
  /// True for the one that we talk on.
  public var current: Bool
  /// Whether one can talk; null once the channel is left.
  @Nullable public var status: ChannelStatus.Service?
  /// Why not, if so.
  @Nullable public var reason: Reason?

  /// An event of its parts.
  public init(
    channel: String, name: String, current: Bool, status: ChannelStatus.Service?,
    reason: Reason? = nil
  ) {
    self.channel = channel
    self.name = name
    self.current = current
    self.status = status
    self.reason = reason
  }
}

/// Something failed that a person may mend.
public struct ErrorEvent: Codable, Hashable, Sendable {
  /// What kind of failure.
  public var reason: Reason
  /// One line that names the thing and the cure.
  public var message: String

  /// An event of its parts.
  public init(reason: Reason, message: String) {
    self.reason = reason
    self.message = message
  }
}
