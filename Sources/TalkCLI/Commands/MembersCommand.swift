import TalkKit

/// `talkaround members`.
enum MembersCommand {
  static let command = Command(
    "members",
    options: [
      Option("--channel", "NAME", help: "the channel; the current one unless given"),
      ChannelCommands.json,
    ],
    summary: "list who is on a channel, and who hears whom"
  ) { invocation, context throws(CommandError) in
    let parameters = ChannelCommands.channelParameter(invocation.value("--channel"))
    let answer = try context.connect(invocation).ask(.members, parameters)
    return try ChannelCommands.show(answer, [MemberStatus].self, invocation, context) { members in
      members.isEmpty ? ["nobody else yet: talkaround invite"] : members.map(StatusText.member)
    }
  }
}
