import TalkKit

/// Every command, and the way from a command line to an exit code.
enum CommandTable {
  /// In the order of the help.
  static let commands: [Command] =
    [ScreenCommand.command, RunCommand.command] + ChannelCommands.commands + [
      InviteCommand.command, JoinCommand.command, MembersCommand.command,
    ] + TalkCommands.commands + [
      StatusCommand.command, WatchCommand.command, DevicesCommand.command, StopCommand.command,
      CompletionCommand.command, ManualCommand.command,
    ]

  /// Runs a command line (without the program's name) and returns its exit code.
  static func run(_ arguments: [String], in context: Context) -> Int32 {
    do throws(CommandError) {
      switch try ArgumentParser(commands: commands).parse(arguments) {
      case .run(let invocation): return try invocation.command.body(invocation, context)
      case .help(let words): context.print(HelpText(commands: commands).text(for: words))
      case .version: context.print("talkaround \(TalkaroundVersion.text)")
      }
      return ExitCode.ok
    } catch {
      context.tell("talkaround: \(DisplayText.line(error.message))")
      return error.exitCode
    }
  }
}
