import Glibc
import TalkKit

/// `talkaround join`: joins by an invite from a prompt, a pipe or a file.
enum JoinCommand {
  static let command = Command(
    "join", .optional("FILE"), summary: "join a channel by an invite from a prompt, a pipe or FILE",
    notes: [
      "The invite is never an argument: other users can see arguments, and the shell keeps them.",
      "FILE - reads standard input.",
    ]
  ) { invocation, context throws(CommandError) in
    let invite = try invite(invocation.argument, context)
    let client = try context.connect(invocation)
    let channel = try client.ask(.join, ["invite": .string(invite)], as: ChannelStatus.self)
    let word = channel.reason == .notAdmitted ? "joining" : "joined"
    context.print("\(word) \(DisplayText.name(channel.name))")
    if channel.reason == .notAdmitted {
      context.tell("Waiting until a member with an open invite is in reach and lets you in.")
    }
    return ExitCode.ok
  }

  private static func invite(
    _ file: String?, _ context: Context
  ) throws(CommandError) -> String {
    if let file, file != "-" {
      // A cut-off invite: too short for the parser's check, and no file of that name is there.
      if file.lowercased().hasPrefix(InviteInput.prefix), unsafe access(file, F_OK) != 0 {
        throw .usage(
          "an invite must not be an argument: other users can see it; use the prompt or a pipe")
      }
      return try InviteInput.read(file: file)
    }
    if isatty(context.input) == 1 { return try InviteInput.prompt(context) }
    return try InviteInput.read(descriptor: context.input, source: "standard input")
  }
}
