import TalkKit

/// `talkaround start`: the node in the background.
enum StartCommand {
  static let command = Command(
    "start",
    options: [Option("--at-login", help: "also from now on at each login (systemd user unit)")]
      + RunOptions.all,
    summary: "start the node in the background",
    notes: [
      "The systemd user unit where that is installed, else a process of its own with a log in the",
      "state directory. A node that runs already is left as it is. 'talkaround stop' ends it.",
    ]
  ) { invocation, context throws(CommandError) in
    let starter = StartNode(invocation: invocation, context: context)
    let atLogin = invocation.has("--at-login")
    if atLogin { try enable(starter, context) }
    let outcome = try starter.ensure(unitHasOptions: atLogin)
    let report = try outcome.client.ask(.status, as: StatusReport.self)
    let who =
      "\(DisplayText.member(report.node.name, id: report.node.id))  "
      + "port \(report.node.port)"
    switch outcome {
    case .started: context.print("started: \(who)")
    case .running:
      context.print("running already: \(who)")
      if !starter.startOptions.filter({ $0 != "--state" }).isEmpty, invocation.state == nil {
        context.tell("Its options are as before; 'talkaround stop' first to change them.")
      }
    }
    return ExitCode.ok
  }

  private static func enable(_ starter: StartNode, _ context: Context) throws(CommandError) {
    // A mistake in profile or options must not wait for the next login.
    _ = try RunOptions(starter.invocation, context)
    let unit = StartUnit(context)
    try unit.enable(
      starter.nodeWords(Context.program, log: nil), hasOptions: !starter.startOptions.isEmpty)
    context.print("starts at login from now on")
    let hasDesktop =
      context.environment["DISPLAY"] != nil || context.environment["WAYLAND_DISPLAY"] != nil
    if !hasDesktop, let user = unit.userWithoutLinger {
      context.tell("To start it at boot, before anybody logs in: loginctl enable-linger \(user)")
    }
  }
}
