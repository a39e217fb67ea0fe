import FoundationEssentials
public import TalkCore

/// One line of `talkaround watch`: what happened, when, and in which order.
///
/// | event | says |
/// |---|---|
/// | snapshot | the whole status; opens every stream |
/// | member | a member came, went or changed |
/// | floor | a floor changed; for our own press, with its times |
/// | burst | a burst began or ended here; with levels asked for, how loud it is |
/// | heard | who heard our burst |
/// | tone | a sound told the person something |
/// | device | a sound device came or went |
/// | discovery | a way of finding members works, or does not |
/// | status | a channel became ready, connecting or unavailable |
/// | error | something failed that a person may mend |
///
/// `seq` rises by one an event; a gap means that events were lost to this reader. A snapshot has
/// the `seq` of the last event that it includes. The name `note` is kept for later.
public struct WatchEvent: Codable, Hashable, Sendable {
  /// The event's number.
  public var seq: UInt64
  /// When, in milliseconds on CLOCK_BOOTTIME, with fractions.
  public var atMilliseconds: Double
  /// When by the wall clock, which may be wrong: RFC 3339, UTC, in milliseconds.
  public var time: String
  /// What happened; its keys stand beside these.
  public var content: Content

  /// What happened.
  public enum Content: Hashable, Sendable {
    /// The whole status.
    case snapshot(StatusReport)
    /// A member came, went or changed.
    case member(MemberEvent)
    /// A floor changed.
    case floor(FloorEvent)
    /// A burst began, ended, or is so loud.
    case burst(BurstEvent)
    /// Who heard our burst.
    case heard(HeardEvent)
    /// A sound told the person something.
    case tone(ToneReport)
    /// A sound device came or went.
    case device(DeviceEvent)
    /// A way of finding members works, or does not.
    case discovery(DiscoveryEvent)
    /// A channel became ready, connecting or unavailable, or was added, removed or made current.
    case status(ServiceEvent)
    /// Something failed that a person may mend.
    case error(ErrorEvent)

    /// The word under the key `event`.
    public var name: String {
      switch self {
      case .snapshot: "snapshot"
      case .member: "member"
      case .floor: "floor"
      case .burst: "burst"
      case .heard: "heard"
      case .tone: "tone"
      case .device: "device"
      case .discovery: "discovery"
      case .status: "status"
      case .error: "error"
      }
    }

    /// True for the many events that only those get who ask for levels.
    public var isLevel: Bool {
      if case .burst(let burst) = self { burst.phase == .level } else { false }
    }
  }

  /// An event with its number and times; `wallSeconds` since 1970.
  public init(seq: UInt64, at: Instant, wallSeconds: Double, content: Content) {
    self.seq = seq
    atMilliseconds = (at - .zero).milliseconds
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true, timeZone: .gmt)
    time = Date(timeIntervalSince1970: wallSeconds).formatted(style)
    self.content = content
  }
}

extension WatchEvent {
  private enum CodingKeys: String, CodingKey {
    case event, seq, time, status
    case atMilliseconds = "at_ms"
  }

  /// Writes the header's keys and the content's beside one another.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(content.name, forKey: .event)
    try container.encode(seq, forKey: .seq)
    try container.encode(atMilliseconds, forKey: .atMilliseconds)
    try container.encode(time, forKey: .time)
    switch content {
    case .snapshot(let report): try container.encode(report, forKey: .status)
    case .member(let event): try event.encode(to: encoder)
    case .floor(let event): try event.encode(to: encoder)
    case .burst(let event): try event.encode(to: encoder)
    case .heard(let event): try event.encode(to: encoder)
    case .tone(let event): try event.encode(to: encoder)
    case .device(let event): try event.encode(to: encoder)
    case .discovery(let event): try event.encode(to: encoder)
    case .status(let event): try event.encode(to: encoder)
    case .error(let event): try event.encode(to: encoder)
    }
  }

  /// Reads what `encode` writes; throws for an event of another name.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    seq = try container.decode(UInt64.self, forKey: .seq)
    atMilliseconds = try container.decode(Double.self, forKey: .atMilliseconds)
    time = try container.decode(String.self, forKey: .time)
    switch try container.decode(String.self, forKey: .event) {
    case "snapshot":
      content = .snapshot(try container.decode(StatusReport.self, forKey: .status))
    case "member": content = .member(try MemberEvent(from: decoder))
    case "floor": content = .floor(try FloorEvent(from: decoder))
    case "burst": content = .burst(try BurstEvent(from: decoder))
    case "heard": content = .heard(try HeardEvent(from: decoder))
    case "tone": content = .tone(try ToneReport(from: decoder))
    case "device": content = .device(try DeviceEvent(from: decoder))
    case "discovery": content = .discovery(try DiscoveryEvent(from: decoder))
    case "status": content = .status(try ServiceEvent(from: decoder))
    case "error": content = .error(try ErrorEvent(from: decoder))
    case let name:
      throw DecodingError.dataCorruptedError(
        forKey: .event, in: container, debugDescription: "no event is called \(name)")
    }
  }
}
