import TalkKit

/// `talkaround stop`.
enum StopCommand {
  static let command = Command("stop", summary: "end the running node") {
    invocation, context throws(CommandError) in
    let client = try context.connect(invocation)
    _ = try client.ask(.stop)
    // The node is gone once it has closed the connection.
    do throws(ControlError) {
      while try client.receive(ControlClient.patience) != nil {}
    } catch .lost {
      return ExitCode.ok
    } catch {
      throw CommandError(error)
    }
    throw CommandError(ControlError.timedOut)
  }
}
