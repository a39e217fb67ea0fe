import Glibc
import TalkCore
import TalkKit

/// `talkaround run`: the node in the foreground, with the screen when a person is there.
enum RunCommand {
  static let command = Command(
    "run",
    options: [
      Option("--headless", help: "no screen, even on a terminal"),
      Option("--port", "N", help: "the UDP port"),
      Option(
        "--peer", "HOST:PORT", repeats: true, help: "a node that is always tried; may be repeated"),
      Option("--name", "NICK", help: "your nickname from now on"),
      Option("--capture", "DEVICE", help: "pulse, pulse:SOURCE, null, or FILE.wav"),
      Option("--playback", "DEVICE", help: "pulse, pulse:SINK, null, or FILE.wav"),
      Option("--no-avahi", help: "do not use Avahi to find members"),
      Option("--no-hello", help: "do not send sealed hellos to find members"),
      Option("--parrot", help: "repeat what is heard: to try a microphone alone"),
    ],
    summary: "run the node here, with its screen on a terminal",
    notes: [
      "It ends by q on the screen, SIGINT, SIGTERM, or 'talkaround stop'.",
      "A parrot needs no sound devices: it has no microphone, and its loudspeaker is null unless",
      "--playback names one.",
    ]
  ) { invocation, context throws(CommandError) in
    let options = try options(invocation, context)
    let node: any RunnableNode
    do throws(NodeServiceError) {
      node = try context.makeNode(options)
    } catch {
      throw CommandError(error)
    }
    if options.headless { return try serve(node) }
    return try show(node, invocation, context)
  }

  /// The options, checked.
  static func options(
    _ invocation: Invocation, _ context: Context
  ) throws(CommandError) -> NodeOptions {
    var options = NodeOptions(state: invocation.state)
    options.headless = invocation.has("--headless") || !context.isInteractive
    options.avahi = !invocation.has("--no-avahi")
    options.hello = !invocation.has("--no-hello")
    options.staticPeers = invocation.values["--peer"] ?? []
    for peer in options.staticPeers where !isHostAndPort(peer) {
      throw .usage("--peer \(peer): write HOST:PORT, such as ben-laptop:41717 or [fe80::1]:41717")
    }
    if let text = invocation.value("--port") {
      guard let port = UInt16(text), port > 0 else {
        throw .usage("--port \(text): must be from 1 to 65535")
      }
      options.port = port
    }
    if let text = invocation.value("--name") {
      guard let name = SafeText.name(text) else {
        throw .usage("--name: has nothing visible in it; use letters")
      }
      options.nickname = name
    }
    options.capture = try device(invocation, "--capture")
    options.playback = try device(invocation, "--playback")
    if invocation.has("--parrot") { try makeParrot(&options, invocation) }
    return options
  }

  /// A parrot hears no microphone and, unless told to, plays nothing: it stands beside a node of
  /// the same machine.
  private static func makeParrot(
    _ options: inout NodeOptions, _ invocation: Invocation
  ) throws(CommandError) {
    guard invocation.value("--capture") == nil else {
      throw .usage("--capture: a parrot has no microphone; leave it out")
    }
    options.parrot = true
    options.capture = "null"
    if invocation.value("--playback") == nil { options.playback = "null" }
    if invocation.value("--name") == nil { options.nickname = "parrot" }
  }

  private static func device(
    _ invocation: Invocation, _ option: String
  ) throws(CommandError) -> String {
    guard let text = invocation.value(option) else { return "pulse" }
    let isPulse = text == "pulse" || (text.hasPrefix("pulse:") && text.count > 6)
    guard isPulse || text == "null" || text.lowercased().hasSuffix(".wav") else {
      let hint = NearestName.hint(text, among: ["pulse", "null"])
      throw .usage("\(option) \(text): must be pulse, pulse:NAME, null, or FILE.wav\(hint)")
    }
    return text
  }

  private static func isHostAndPort(_ text: String) -> Bool {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
      port > 0
    else { return false }
    let host = text[..<colon]
    if host.hasPrefix("[") { return host.hasSuffix("]") && host.count > 2 }
    return !host.isEmpty && !host.contains(":") && !host.contains(where: \.isWhitespace)
  }

  /// Serves without a screen until a signal or `talkaround stop`.
  private static func serve(_ node: any RunnableNode) throws(CommandError) -> Int32 {
    let signals = SignalPipe([SIGINT, SIGTERM, SIGHUP])
    // Waits for ever when the node ends by itself; the process ends with it.
    _ = BackgroundThread {
      _ = signals.next()
      node.stop()
    }
    do { try node.run() } catch { throw CommandError(error) }
    return ExitCode.ok
  }

  /// Serves on a thread of its own, and shows the screen here.
  private static func show(
    _ node: any RunnableNode, _ invocation: Invocation, _ context: Context
  ) throws(CommandError) -> Int32 {
    let signals = SignalPipe(Screen.signals)
    let outcome = Outcome()
    let thread = BackgroundThread {
      do throws(NodeServiceError) {
        try node.run()
        outcome.set(nil)
      } catch {
        outcome.set(error)
      }
    }
    if let client = try connect(outcome, invocation, context) {
      var screen = Screen(client: client, context: context, signals: signals)
      _ = screen.run()
    }
    node.stop()
    thread.join()
    if let error = outcome.error { throw CommandError(error) }
    return ExitCode.ok
  }

  /// Connects once the node serves; nil when it ended before.
  private static func connect(
    _ outcome: Outcome, _ invocation: Invocation, _ context: Context
  ) throws(CommandError) -> ControlClient? {
    // Ten seconds: a node that is slower than that has a fault that its own output names.
    for _ in 0..<200 {
      if outcome.isThere { return nil }
      if let client = try? context.connect(invocation) { return client }
      _ = poll(nil, 0, 50)
    }
    return try context.connect(invocation)
  }

  /// How the node ended, told from its thread.
  private final class Outcome: Sendable {
    private let lock = Lock()
    private nonisolated(unsafe) var ended = false
    private nonisolated(unsafe) var failure: NodeServiceError?

    func set(_ error: NodeServiceError?) {
      lock.withLock {
        unsafe failure = error
        unsafe ended = true
      }
    }

    var isThere: Bool { lock.withLock { unsafe ended } }
    var error: NodeServiceError? { lock.withLock { unsafe failure } }
  }
}
