import TalkKit

/// `talkaround members`: who there is, and what each may do.
enum MembersCommand {
  static let commands = [list, set]

  private static let channel = Option(
    "--channel", "NAME", help: "the channel; the current one unless given")

  private static let set = Command(
    "members set", .one("MEMBER"),
    options: [
      channel,
      Option("--class", "CLASS", repeats: true, help: "it may speak with this class too (repeat)"),
      Option("--no-class", "CLASS", repeats: true, help: "it may not any more (repeat)"),
      Option("--admin", help: "it may admit admins, grant classes and set listen-only"),
      Option("--member", help: "it speaks, and admits members"),
      Option("--listen-only", help: "it hears, and never speaks"),
    ],
    summary: "change what the channel allows a member; for admins",
    notes: [
      "MEMBER is a nickname or the start of an id. Classes: normal, priority (first in the queue),",
      "peril and emergency (stop a talker of a lower class). Without being granted anything a",
      "member has normal and emergency.",
    ]
  ) { invocation, context throws(CommandError) in
    var parameters = ChannelCommands.channelParameter(invocation.value("--channel"))
    parameters["member"] = .string(invocation.argument ?? "")
    let roles = ["--admin", "--member", "--listen-only"].filter(invocation.has)
    guard roles.count <= 1 else {
      throw .usage("\(roles.joined(separator: " and ")) exclude each other")
    }
    if let role = roles.first { parameters["role"] = .string(String(role.dropFirst(2))) }
    let granted = invocation.values["--class"] ?? []
    let withdrawn = invocation.values["--no-class"] ?? []
    parameters["grant"] = .array(granted.map(JSONValue.string))
    parameters["withdraw"] = .array(withdrawn.map(JSONValue.string))
    guard !roles.isEmpty || !granted.isEmpty || !withdrawn.isEmpty else {
      throw .usage("say what to change: --class, --no-class, --admin, --member or --listen-only")
    }
    let client = try context.connect(invocation)
    let members = try client.ask(.membersSet, parameters, as: [MemberStatus].self)
    for member in members { context.print(StatusText.member(member)) }
    return ExitCode.ok
  }

  private static let list = Command(
    "members",
    options: [
      channel,
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
