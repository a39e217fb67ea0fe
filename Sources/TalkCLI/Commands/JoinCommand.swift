import Glibc
import TalkKit

/// `talkaround join`: joins by an invite from a prompt, a pipe or a file.
enum JoinCommand {
  static let command = Command(
    "join", .optional("FILE"), options: [Option("--no-wait", help: "do not wait to be let in")],
    summary: "join a channel by an invite from a prompt, a pipe or FILE",
    notes: [
      "Waits up to 15 s until a member lets you in, and ends with 69 if none does; the node then",
      "goes on trying.",
      "The invite is never an argument: other users can see arguments, and the shell keeps them.",
      "FILE - reads standard input.",
    ]
  ) { invocation, context throws(CommandError) in
    let invite = try invite(invocation.argument, context)
    let client = try context.connect(invocation)
    let channel = try client.ask(.join, ["invite": .string(invite)], as: ChannelStatus.self)
    let name = DisplayText.name(channel.name)
    if channel.isJoining, invocation.has("--no-wait") {
      context.print("joining \(name)")
      context.tell("Waiting until a member with an open invite is in reach and lets you in.")
      return ExitCode.ok
    }
    guard let joined = try wait(client, channel, context) else {
      for line in AttachWaiting.advice { context.tell(line) }
      throw CommandError(
        message: "not on \(name) yet after \(patienceMilliseconds / 1_000) s; the node goes on "
          + "trying, and 'talkaround status' shows when it is in", exitCode: ExitCode.unavailable)
    }
    context.print("joined \(name)")
    let here = joined.members.filter { $0.state == .present }.map { DisplayText.name($0.name) }
    if !here.isEmpty { context.tell("Here: \(here.joined(separator: ", "))") }
    return ExitCode.ok
  }

  /// How long a member may take to let us in, and then to be heard, in milliseconds.
  private static let patienceMilliseconds: UInt64 = 15_000
  private static let settleMilliseconds: UInt64 = 2_000

  /// Waits until we are a member, and a little until somebody is here; nil when nobody lets us in.
  private static func wait(
    _ client: ControlClient, _ first: ChannelStatus, _ context: Context
  ) throws(CommandError) -> ChannelStatus? {
    let began = ChildProgram.now()
    guard first.isJoining else { return first }
    let shows = isatty(context.error) == 1
    if shows { context.tell("joining \(DisplayText.name(first.name)) …") }
    var deadline = began + patienceMilliseconds
    var wasIn = false
    while true {
      let channel = try client.ask(
        .channelShow, ["channel": .string(first.id)], as: ChannelStatus.self)
      if channel.status == .ready { return channel }
      if !channel.isJoining, !wasIn {
        wasIn = true
        deadline = ChildProgram.now() + settleMilliseconds
      }
      guard ChildProgram.now() < deadline else { return wasIn ? channel : nil }
      _ = poll(nil, 0, 50)
    }
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
