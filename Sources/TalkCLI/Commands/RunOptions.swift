import TalkCore
import TalkKit

/// The settings of a node: the profile's, and on top of them the options of `run` and `start`.
struct RunOptions {
  /// What `run`, `start` and `config show` take.
  static let all = [
    Option("--port", "N", help: "the UDP port"),
    Option(
      "--peer", "HOST:PORT", repeats: true, help: "a node that is always tried; may be repeated"),
    Option("--name", "NICK", help: "your nickname from now on"),
    Option("--capture", "DEVICE", help: "pulse, pulse:SOURCE, null, or FILE.wav"),
    Option("--playback", "DEVICE", help: "pulse, pulse:SINK, null, or FILE.wav"),
    Option("--no-avahi", help: "do not use Avahi to find members"),
    Option("--no-hello", help: "do not send sealed hellos to find members"),
    Option("--log", "FILE", help: "log into FILE, which is kept small"),
    Option("--log-level", "LEVEL", help: "error, info or debug"),
  ]

  /// What came of profile and options.
  private(set) var options: NodeOptions
  /// The profile that was read.
  let profile: Profile
  private let invocation: Invocation

  /// Reads the profile and checks the options.
  init(_ invocation: Invocation, _ context: Context) throws(CommandError) {
    self.invocation = invocation
    profile = try Self.profile(invocation.value("--profile"), context)
    options = NodeOptions(state: invocation.state)
    profile.apply(to: &options)
    if invocation.has("--headless") { options.headless = true }
    if invocation.has("--no-avahi") { options.avahi = false }
    if invocation.has("--no-hello") { options.hello = false }
    for peer in invocation.values["--peer"] ?? [] {
      if let why = ProfileKey.Check.peer(peer) { throw .usage("--peer \(peer): \(why)") }
      if !options.staticPeers.contains(peer) { options.staticPeers.append(peer) }
    }
    if let text = invocation.value("--port") {
      guard let port = UInt16(text), port > 0 else {
        throw .usage("--port \(text): must be from 1 to 65535")
      }
      options.port = port
    }
    if let text = invocation.value("--name") { options.nickname = try nickname(text, context) }
    if let device = try device("--capture") { options.capture = device }
    if let device = try device("--playback") { options.playback = device }
    if let file = invocation.value("--log") { options.logFile = file }
    if let word = invocation.value("--log-level") {
      guard let level = LogLevel(rawValue: word) else {
        let words = LogLevel.allCases.map(\.rawValue)
        let hint = NearestName.hint(word, among: words)
        throw .usage("--log-level \(word): must be error, info or debug\(hint)")
      }
      options.logLevel = level
    }
  }

  /// Finds and reads a profile.
  static func profile(
    _ wanted: String?, _ context: Context
  ) throws(CommandError) -> Profile {
    do throws(ProfileProblems) {
      return try context.profiles.load(wanted)
    } catch {
      throw CommandError(message: error.line, exitCode: ExitCode.state)
    }
  }

  /// Where the value of a key comes from, for people.
  func source(of key: ProfileKey) -> String {
    if let option = key.option, invocation.has(option) { return "option \(option)" }
    return profile.source(of: key)
  }

  /// A name as it will be used; what had to be cut off is told.
  private func nickname(_ text: String, _ context: Context) throws(CommandError) -> String {
    guard let name = SafeText.name(text) else {
      throw .usage("--name: has nothing visible in it; use letters")
    }
    if name != text { context.tell(Self.cutNotice("--name", name)) }
    return name
  }

  /// Says what a name became.
  static func cutNotice(_ what: String, _ name: String) -> String {
    "\(what): a name has at most \(SafeText.nameLimit) bytes of visible letters; "
      + "it is now \"\(DisplayText.name(name))\""
  }

  private func device(_ option: String) throws(CommandError) -> String? {
    guard let text = invocation.value(option) else { return nil }
    if let why = ProfileKey.Check.device(text) { throw .usage("\(option) \(text): \(why)") }
    return text
  }
}
