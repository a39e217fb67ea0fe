package import TalkStore

/// How a node is to run: what the options of `talkaround run` say.
public struct NodeOptions: Hashable, Sendable {
  /// The state directory; nil is the default one.
  public var state: String?
  /// The UDP port; nil lets the node choose.
  public var port: UInt16?
  /// `host:port` of nodes that are always tried.
  public var staticPeers: [String]
  /// The nickname from now on; nil keeps the one there is.
  public var nickname: String?
  /// Where voice comes from: `pulse`, `pulse:SOURCE`, `null`, or a WAV file's path.
  public var capture: String
  /// Where voice goes to: `pulse`, `pulse:SINK`, `null`, or a WAV file's path.
  public var playback: String
  /// True to find members over Avahi.
  public var avahi: Bool
  /// True to find members by sealed hellos.
  public var hello: Bool
  /// True when nobody looks: no view, all messages to standard error.
  public var headless: Bool
  /// True when the node repeats what it hears.
  public var parrot = false
  /// How loud tones are, in dB within `toneVolumes`; 0 is a peak 12 dB below full scale.
  public var toneVolume = 0
  /// The tones that sound.
  public var tones = NodeTone.allCases.filter { $0 != .came && $0 != .left }
  /// What is logged.
  public var logLevel = LogLevel.info
  /// The file that the log goes to; nil is standard error. It is kept below 512 KiB, with the half
  /// before it beside it under the name with `.1`.
  public var logFile: String?

  /// How loud tones may be, in dB.
  public static let toneVolumes = -60...12

  /// Options of their parts; what is left out is the default of a desktop.
  public init(
    state: String? = nil, port: UInt16? = nil, staticPeers: [String] = [],
    nickname: String? = nil, capture: String = "pulse", playback: String = "pulse",
    avahi: Bool = true, hello: Bool = true, headless: Bool = false
  ) {
    self.state = state
    self.port = port
    self.staticPeers = staticPeers
    self.nickname = nickname
    self.capture = capture
    self.playback = playback
    self.avahi = avahi
    self.hello = hello
    self.headless = headless
  }
}

/// A tone by which the node speaks to its person, by the name that `watch` has for it.
public enum NodeTone: String, CaseIterable, Hashable, Sendable {
  /// You may speak.
  case permit
  /// Somebody else speaks.
  case busy
  /// You wait, and have a place.
  case queued
  /// The talk limit comes soon.
  case limitWarning = "limit-warning"
  /// Your burst was ended for you.
  case cut
  /// Nobody hears you.
  case unheard
  /// A member came.
  case came
  /// A member went.
  case left
}

/// How much is logged; each level holds those before it.
public enum LogLevel: String, CaseIterable, Comparable, Sendable {
  /// What is broken and may be mended.
  case error
  /// What changed: a line a change.
  case info
  /// Also who came and left.
  case debug

  /// Orders from little to much.
  public static func < (left: LogLevel, right: LogLevel) -> Bool {
    let all = allCases
    return (all.firstIndex(of: left) ?? 0) < (all.firstIndex(of: right) ?? 0)
  }
}

/// Why a node cannot start or go on. Each case carries one line that names the thing and the cure.
public enum NodeServiceError: Error, Hashable, Sendable {
  /// An option is wrong: the person's to mend.
  case usage(String)
  /// Something that the node needs is not there: a port, a device.
  case unavailable(String)
  /// Another copy runs already.
  case secondCopy(String)
  /// The system does not let us.
  case noPermission(String)
  /// A state or identity file cannot be used.
  case state(String)

  /// The exit code of sysexits.h that the command ends with (surface.md).
  public var exitCode: Int32 {
    switch self {
    case .usage: 64
    case .unavailable: 69
    case .secondCopy: 75
    case .noPermission: 77
    case .state: 78
    }
  }

  /// The line.
  public var message: String {
    switch self {
    case .usage(let text), .unavailable(let text), .secondCopy(let text),
      .noPermission(let text), .state(let text):
      text
    }
  }
}

extension NodeServiceError {
  /// The failure that an error of the state directory means.
  package init(_ error: StoreError) {
    switch error {
    case .inUse: self = .secondCopy(error.description)
    case .looseMode, .foreignOwner, .noPermission: self = .noPermission(error.description)
    default: self = .state(error.description)
    }
  }

  /// The failure that an error of the control socket means.
  package init(_ error: ControlError) {
    switch error {
    case .inUse: self = .secondCopy(error.description)
    case .noPermission, .badFolder: self = .noPermission(error.description)
    case .pathTooLong: self = .usage(error.description)
    default: self = .unavailable(error.description)
    }
  }
}
