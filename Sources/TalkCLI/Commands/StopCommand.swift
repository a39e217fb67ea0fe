import TalkKit

/// `talkaround stop`.
enum StopCommand {
  static let command = Command(
    "stop", options: [Option("--at-login", help: "nor start it at login any more")],
    summary: "end the running node",
    notes: ["Where none runs there is nothing to do, and that is no error."]
  ) { invocation, context throws(CommandError) in
    if invocation.has("--at-login") {
      try StartUnit(context).disable()
      context.print("does not start at login any more")
    }
    guard let client = try StartNode(invocation: invocation, context: context).existing() else {
      context.tell("no node is running")
      return ExitCode.ok
    }
    do throws(ControlError) {
      _ = try client.call(.stop)
      // The node is gone once it has closed the connection.
      while try client.receive(ControlClient.patience) != nil {}
    } catch .lost {
      return ExitCode.ok
    } catch {
      throw CommandError(error)
    }
    throw CommandError(ControlError.timedOut)
  }
}
