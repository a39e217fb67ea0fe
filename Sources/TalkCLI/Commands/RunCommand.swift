import Glibc
import TalkCore
import TalkKit

/// `talkaround run`: the node in the foreground, with the screen when a person is there.
enum RunCommand {
  static let command = Command(
    "run",
    options: [
      Option("--headless", help: "no screen, even on a terminal"),
      Option("--parrot", help: "repeat what is heard: to try a microphone alone"),
    ] + RunOptions.all,
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
    var options = try RunOptions(invocation, context).options
    options.headless = options.headless || !context.isInteractive
    // Lines of the log would tear the screen.
    if !options.headless, options.logFile == nil, isatty(context.error) == 1 {
      do throws(NodeServiceError) {
        options.logFile = try StateFolder.path(invocation.state, context.environment) + "/log"
      } catch {
        throw CommandError(error)
      }
    }
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
    options.tones = []
    options.capture = "null"
    if invocation.value("--playback") == nil { options.playback = "null" }
    if invocation.value("--name") == nil { options.nickname = "parrot" }
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
      do throws(CommandError) {
        try view(client, context, signals)
      } catch {
        node.stop()
        thread.join()
        throw error
      }
    }
    node.stop()
    thread.join()
    if let error = outcome.error { throw CommandError(error) }
    return ExitCode.ok
  }

  /// The first run's questions, where there is no channel, and the screen.
  private static func view(
    _ client: ControlClient, _ context: Context, _ signals: SignalPipe
  ) throws(CommandError) {
    var message = ""
    switch try AttachFirstRun.run(client, context, signals) {
    case .leave: return
    case .screen(let text): message = text
    case nil: break
    }
    var screen = Screen(client: client, context: context, signals: signals, message: message)
    _ = screen.run()
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
