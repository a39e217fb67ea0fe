import TalkKit

/// `talkaround` without a command: the screen of the node that runs.
enum ScreenCommand {
  static let command = Command("", summary: "the screen of the running node") {
    invocation, context throws(CommandError) in
    guard context.isInteractive else {
      throw .usage("the screen needs a terminal; 'talkaround --help' lists the commands")
    }
    let client = try context.connect(invocation)
    var screen = Screen(client: client, context: context, signals: SignalPipe(Screen.signals))
    switch screen.run() {
    case .quit: context.tell("The node goes on listening; end it with: talkaround stop")
    case .nodeGone: throw CommandError(ControlError.lost)
    }
    return ExitCode.ok
  }
}
