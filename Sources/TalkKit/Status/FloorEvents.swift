/// A floor changed.
public struct FloorEvent: Codable, Hashable, Sendable {
  /// The channel's UUID.
  public var channel: String
  /// Which state the floor is in now.
  public var state: FloorState
  /// Who speaks: an identity, ours included; null when nobody does.
  @Nullable public var holder: String?
  /// The holder's nickname, as it gave it.
  @Nullable public var name: String?
  /// Our place in the queue, from 1; null when we do not wait.
  @Nullable public var place: Int?
  /// The number of the latest holding.
  public var turn: UInt64
  /// How urgent: `normal`, `priority`, `peril` or `emergency`.
  public var floorClass: String
  /// Why it changed, or why our press was refused; null when nothing need be said.
  @Nullable public var reason: Reason?
  /// Who waits, the next one first.
  public var queue: [String]
  /// The times of our own press, flattened into `press_ms`, `grant_ms` and `permit_ms`.
  public var press: PressTiming

  private enum CodingKeys: String, CodingKey {
    case channel, state, holder, name, place, turn, reason, queue
    case floorClass = "class"
  }

  /// An event of its parts.
  public init(
    channel: String, state: FloorState, holder: String?, name: String?, place: Int?, turn: UInt64,
    floorClass: String, reason: Reason?, queue: [String], press: PressTiming = PressTiming()
  ) {
    self.channel = channel
    self.state = state
    self.holder = holder
    self.name = name
    self.place = place
    self.turn = turn
    self.floorClass = floorClass
    self.reason = reason
    self.queue = queue
    self.press = press
  }

  /// Writes all keys beside one another.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(channel, forKey: .channel)
    try container.encode(state, forKey: .state)
    try container.encode(_holder, forKey: .holder)
    try container.encode(_name, forKey: .name)
    try container.encode(_place, forKey: .place)
    try container.encode(turn, forKey: .turn)
    try container.encode(floorClass, forKey: .floorClass)
    try container.encode(_reason, forKey: .reason)
    try container.encode(queue, forKey: .queue)
    try press.encode(to: encoder)
  }

  /// Reads what `encode` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    channel = try container.decode(String.self, forKey: .channel)
    state = try container.decode(FloorState.self, forKey: .state)
    _holder = try container.decode(Nullable<String>.self, forKey: .holder)
    _name = try container.decode(Nullable<String>.self, forKey: .name)
    _place = try container.decode(Nullable<Int>.self, forKey: .place)
    turn = try container.decode(UInt64.self, forKey: .turn)
    floorClass = try container.decode(String.self, forKey: .floorClass)
    _reason = try container.decode(Nullable<Reason>.self, forKey: .reason)
    queue = try container.decode([String].self, forKey: .queue)
    press = try PressTiming(from: decoder)
  }
}

/// The times of one press of ours; all null in events about others.
public struct PressTiming: Codable, Hashable, Sendable {
  /// When the key went down: milliseconds on CLOCK_BOOTTIME, the clock of `at_ms`.
  @Nullable public var pressMilliseconds: Double?
  /// From there to the grant, in milliseconds; null before it.
  @Nullable public var grantMilliseconds: Double?
  /// From the press to the permit tone, in milliseconds; null before it.
  @Nullable public var permitMilliseconds: Double?

  private enum CodingKeys: String, CodingKey {
    case pressMilliseconds = "press_ms"
    case grantMilliseconds = "grant_ms"
    case permitMilliseconds = "permit_ms"
  }

  /// The times of a press; none for an event about others.
  public init(press: Double? = nil, grant: Double? = nil, permit: Double? = nil) {
    pressMilliseconds = press
    grantMilliseconds = grant
    permitMilliseconds = permit
  }
}

/// A burst began, ended, or is so loud.
public struct BurstEvent: Codable, Hashable, Sendable {
  /// What of the burst.
  public enum Phase: String, Codable, Hashable, Sendable {
    /// Its first frame is played or sent.
    case began
    /// Its last frame was.
    case ended
    /// How loud it is now; only for those who ask for levels.
    case level
  }

  /// The channel's UUID.
  public var channel: String
  /// The number of the holding.
  public var turn: UInt64
  /// Who speaks.
  public var speaker: String
  /// The speaker's nickname, as it gave it.
  public var name: String
  /// What of the burst.
  public var phase: Phase
  /// How loud, in dB below full scale, so at most 0; null but for `level`.
  @Nullable public var level: Double?
  /// Frames heard or sent here; null but for `ended`.
  @Nullable public var frames: Int?
  /// Frames that were missing here; null but for `ended`.
  @Nullable public var lost: Int?
  /// Why it ended; null but for `ended`.
  @Nullable public var reason: Reason?

  private enum CodingKeys: String, CodingKey {
    case channel, turn, speaker, name, phase, frames, lost, reason
    case level = "level_db"
  }

  /// An event of its parts.
  public init(
    channel: String, turn: UInt64, speaker: String, name: String, phase: Phase,
    level: Double? = nil, frames: Int? = nil, lost: Int? = nil, reason: Reason? = nil
  ) {
    self.channel = channel
    self.turn = turn
    self.speaker = speaker
    self.name = name
    self.phase = phase
    self.level = level
    self.frames = frames
    self.lost = lost
    self.reason = reason
  }
}

/// Who heard our burst, as the listeners reported at its end.
public struct HeardEvent: Codable, Hashable, Sendable {
  /// A member, by identity and nickname.
  public struct Listener: Codable, Hashable, Sendable {
    /// The identity.
    public var id: String
    /// The nickname, as the member gave it.
    public var name: String

    /// A listener of its parts.
    public init(id: String, name: String) {
      self.id = id
      self.name = name
    }
  }

  /// The channel's UUID.
  public var channel: String
  /// The number of the holding.
  public var turn: UInt64
  /// Who heard it.
  public var heard: [Listener]
  /// Who was present and did not.
  public var missed: [Listener]

  /// An event of its parts.
  public init(channel: String, turn: UInt64, heard: [Listener], missed: [Listener]) {
    self.channel = channel
    self.turn = turn
    self.heard = heard
    self.missed = missed
  }
}
