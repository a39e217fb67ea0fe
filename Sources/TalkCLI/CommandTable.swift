import TalkKit

/// Every command, and the way from a command line to an exit code.
enum CommandTable {
  /// In the order of the help.
  static let commands: [Command] =
    [ScreenCommand.command, StartCommand.command, RunCommand.command] + ChannelCommands.commands + [
      InviteCommand.command, JoinCommand.command,
    ] + MembersCommand.commands + TalkCommands.commands + [
      StatusCommand.command, WatchCommand.command, DevicesCommand.command, DoctorCommand.command,
      StopCommand.command, SimulateCommand.command,
    ] + ConfigCommands.commands + BenchCommands.commands + [
      CompletionCommand.command, ManualCommand.command,
    ]

  /// Runs a command line (without the program's name) and returns its exit code.
  static func run(_ arguments: [String], in context: Context) -> Int32 {
    do throws(CommandError) {
      switch try ArgumentParser(commands: commands).parse(arguments) {
      case .run(let invocation):
        let code = try invocation.command.body(invocation, context)
        if code != ExitCode.ok { return code }
      case .help(let words): context.print(HelpText(commands: commands).text(for: words))
      case .version: context.print("talkaround \(TalkaroundVersion.text)")
      }
      if let error = context.outputFailure.error { throw error }
      return ExitCode.ok
    } catch {
      context.tell("talkaround: \(DisplayText.line(error.message))")
      return error.exitCode
    }
  }
}
