/// What `talkaround status --json` prints, version 1; keys are only ever added.
public struct StatusReport: Codable, Hashable, Sendable {
  /// The version of this layout: 1.
  public var v: Int
  /// The node itself.
  public var node: NodeStatus
  /// Its channels, in their order.
  public var channels: [ChannelStatus]

  /// A report of its parts.
  public init(node: NodeStatus, channels: [ChannelStatus]) {
    v = 1
    self.node = node
    self.channels = channels
  }
}

/// The node: who and where it is, and what of the world it uses.
public struct NodeStatus: Codable, Hashable, Sendable {
  /// Sound devices.
  public struct Audio: Codable, Hashable, Sendable {
    /// Where voice is taken from: `pulse:NAME`, `null`, or a file's path.
    public var capture: String
    /// Where voice goes to, written likewise.
    public var playback: String

    /// The two devices.
    public init(capture: String, playback: String) {
      self.capture = capture
      self.playback = playback
    }
  }

  /// How members are found.
  public struct Discovery: Codable, Hashable, Sendable {
    /// `running`, `down` or `off`.
    public var avahi: String
    /// `on` or `off`.
    public var hello: String
    /// What became of HELLOs since the start.
    public var hellos: Hellos

    /// The two states, and the counts.
    public init(avahi: String, hello: String, hellos: Hellos = Hellos()) {
      self.avahi = avahi
      self.hello = hello
      self.hellos = hellos
    }
  }

  /// Counts of HELLOs since the node's start.
  public struct Hellos: Codable, Hashable, Sendable {
    /// Made, one for each channel; each goes out on every link.
    public var sent: Int
    /// Copies of our own that came back: multicast works on this machine.
    public var own: Int
    /// Of members: multicast from others arrives.
    public var heard: Int
    /// How many milliseconds ago the latest of those came; null when none did.
    @Nullable public var heardMilliseconds: Int?

    private enum CodingKeys: String, CodingKey {
      case sent, own, heard
      case heardMilliseconds = "heard_ms"
    }

    /// Counts; none unless given.
    public init(sent: Int = 0, own: Int = 0, heard: Int = 0, heardMilliseconds: Int? = nil) {
      self.sent = sent
      self.own = own
      self.heard = heard
      self.heardMilliseconds = heardMilliseconds
    }
  }

  /// The node's identity: thirty-two hex digits.
  public var id: String
  /// Its nickname.
  public var name: String
  /// The version of the program.
  public var version: String
  /// The UDP port.
  public var port: UInt16
  /// Sound devices.
  public var audio: Audio
  /// How members are found.
  public var discovery: Discovery

  /// A node of its parts, of this program's version.
  public init(id: String, name: String, port: UInt16, audio: Audio, discovery: Discovery) {
    self.id = id
    self.name = name
    version = TalkaroundVersion.text
    self.port = port
    self.audio = audio
    self.discovery = discovery
  }
}

/// A channel as this node sees it.
public struct ChannelStatus: Codable, Hashable, Sendable {
  /// Whether one can talk.
  public enum Service: String, Codable, Hashable, Sendable {
    /// A member hears us.
    case ready
    /// We look for members, or wait to be admitted.
    case connecting
    /// It does not work; the reason says why.
    case unavailable
  }

  /// The channel's UUID.
  public var id: String
  /// Its name.
  public var name: String
  /// True for the one that we talk on.
  public var current: Bool
  /// Whether one can talk.
  public var status: Service
  /// Why not, if so.
  @Nullable public var reason: Reason?
  /// The other members that are known.
  public var members: [MemberStatus]
  /// Who may speak.
  public var floor: FloorStatus

  /// A channel of its parts.
  public init(
    id: String, name: String, current: Bool, status: Service, reason: Reason?,
    members: [MemberStatus], floor: FloorStatus
  ) {
    self.id = id
    self.name = name
    self.current = current
    self.status = status
    self.reason = reason
    self.members = members
    self.floor = floor
  }
}

/// Another member of a channel.
public struct MemberStatus: Codable, Hashable, Sendable {
  /// Whether the member is there.
  public enum State: String, Codable, Hashable, Sendable {
    /// In touch.
    case present
    /// Not heard.
    case away
    /// Has the invite, is not admitted.
    case wantsIn = "wants-in"
  }

  /// The member's identity: thirty-two hex digits.
  public var id: String
  /// Its nickname, as it gave it: show it escaped.
  public var name: String
  /// Whether it is there.
  public var state: State
  /// True when it said so lately.
  public var hearsMe: Bool
  /// True when we heard it lately.
  public var iHear: Bool
  /// Round trip in milliseconds; null before the first measurement.
  @Nullable public var roundTripMilliseconds: Double?
  /// Share of our frames that it lost, 0 to 1.
  public var lossTo: Double
  /// Share of its frames that we lost, 0 to 1.
  public var lossFrom: Double
  /// True when its playback is off.
  public var deaf: Bool
  /// `admin`, `member` or `listen-only`; null before it is admitted.
  @Nullable public var role: String?
  /// The classes that it may speak with: `normal`, `priority`, `peril`, `emergency`.
  public var classes: [String]
  /// Where it is reached, as address:port; null without a session.
  @Nullable public var endpoint: String?
  /// For how many milliseconds nothing of it has come; null when nothing ever did.
  @Nullable public var silentMilliseconds: Int?

  private enum CodingKeys: String, CodingKey {
    case id, name, state, deaf, role, classes, endpoint
    case silentMilliseconds = "silent_ms"
    case hearsMe = "hears_me"
    case iHear = "i_hear"
    case roundTripMilliseconds = "rtt_ms"
    case lossTo = "loss_to"
    case lossFrom = "loss_from"
  }

  /// A member of its parts.
  public init(
    id: String, name: String, state: State, hearsMe: Bool, iHear: Bool,
    roundTripMilliseconds: Double?, lossTo: Double, lossFrom: Double, deaf: Bool,
    role: String? = nil, classes: [String] = [],
    endpoint: String? = nil, silentMilliseconds: Int? = nil
  ) {
    self.id = id
    self.name = name
    self.state = state
    self.hearsMe = hearsMe
    self.iHear = iHear
    self.roundTripMilliseconds = roundTripMilliseconds
    self.lossTo = lossTo
    self.lossFrom = lossFrom
    self.deaf = deaf
    self.role = role
    self.classes = classes
    self.endpoint = endpoint
    self.silentMilliseconds = silentMilliseconds
  }
}

/// The state of a floor, in the five words of floor.md.
public enum FloorState: String, Codable, Hashable, Sendable, CaseIterable {
  /// Nobody speaks.
  case idle
  /// Somebody else speaks.
  case taken
  /// We asked, and wait for the answer.
  case requested
  /// We wait behind others.
  case queued
  /// We speak.
  case ours
}

/// A channel's floor.
public struct FloorStatus: Codable, Hashable, Sendable {
  /// Which state.
  public var state: FloorState
  /// Who speaks: an identity, ours included; null when nobody does.
  @Nullable public var holder: String?
  /// How urgent: `normal`, `priority`, `peril` or `emergency`.
  public var floorClass: String
  /// The number of the latest holding.
  public var turn: UInt64
  /// For how many milliseconds the holder has spoken; null when nobody does.
  @Nullable public var sinceMilliseconds: Int?
  /// The talk limit in milliseconds.
  public var limitMilliseconds: Int
  /// Our place in the queue, from 1; null when we do not wait.
  @Nullable public var place: Int?
  /// Who waits, the next one first.
  public var queue: [String]

  private enum CodingKeys: String, CodingKey {
    case state, holder, turn, place, queue
    case floorClass = "class"
    case sinceMilliseconds = "since_ms"
    case limitMilliseconds = "limit_ms"
  }

  /// A floor of its parts.
  public init(
    state: FloorState, holder: String?, floorClass: String, turn: UInt64,
    sinceMilliseconds: Int?, limitMilliseconds: Int, place: Int?, queue: [String]
  ) {
    self.state = state
    self.holder = holder
    self.floorClass = floorClass
    self.turn = turn
    self.sinceMilliseconds = sinceMilliseconds
    self.limitMilliseconds = limitMilliseconds
    self.place = place
    self.queue = queue
  }
}
