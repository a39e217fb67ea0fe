import TalkKit

/// `talkaround` without a command: attaches to the node, starting it if needed; on the first run
/// asks for a channel; then the screen.
enum ScreenCommand {
  static let command = Command("", summary: "the screen of the node, which is started if needed") {
    invocation, context throws(CommandError) in
    let starter = StartNode(invocation: invocation, context: context)
    guard context.isInteractive else { throw try withoutTerminal(starter) }
    let outcome = try starter.ensure()
    if case .running = outcome, invocation.has("--profile") {
      context.tell("The node runs already; --profile counts when it is started again.")
    }
    let client = outcome.client
    var message = ""
    let signals = SignalPipe(Screen.signals)
    switch try AttachFirstRun.run(client, context, signals) {
    case .leave: return goesOn(context)
    case .screen(let text): message = text
    case nil: break
    }
    var screen = Screen(
      client: client, context: context, signals: signals, message: message)
    switch screen.run() {
    case .quit: return goesOn(context)
    case .nodeGone: throw CommandError(ControlError.lost)
    }
  }

  private static func goesOn(_ context: Context) -> Int32 {
    context.tell("The node goes on listening; end it with: talkaround stop")
    return ExitCode.ok
  }

  /// What a script is told that runs `talkaround` alone.
  private static func withoutTerminal(_ starter: StartNode) throws(CommandError) -> CommandError {
    guard let client = try starter.existing() else {
      return CommandError(
        message: "no node is running, and the screen needs a terminal; start the node with "
          + "'talkaround start'", exitCode: ExitCode.unavailable)
    }
    let report = try client.ask(.status, as: StatusReport.self)
    guard report.channels.isEmpty else {
      return .usage("the screen needs a terminal; 'talkaround status' tells what it would show")
    }
    return .usage(
      "the screen needs a terminal; there is no channel yet: 'talkaround channel create NAME', or "
        + "'talkaround join' with an invite on standard input")
  }
}
