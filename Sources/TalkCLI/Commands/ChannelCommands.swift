import TalkKit

/// `talkaround channel …`: make, list, show, choose and leave channels.
enum ChannelCommands {
  static let json = Option("--json", help: "print JSON")

  static let commands = [create, list, show, use, leave]

  private static let create = Command(
    "channel create", .one("NAME"), summary: "make a channel and become its creator",
    notes: ["A name has at most 32 bytes. Then 'talkaround invite' lets others in."]
  ) { invocation, context throws(CommandError) in
    let client = try context.connect(invocation)
    let name = JSONValue.string(invocation.argument ?? "")
    let channel = try client.ask(.channelCreate, ["name": name], as: ChannelStatus.self)
    context.print("made \(DisplayText.name(channel.name)) (\(DisplayText.name(channel.id)))")
    if let notice = cutNotice(wanted: invocation.argument ?? "", got: channel.name) {
      context.tell(notice)
    }
    context.tell("Let others in: talkaround invite")
    return ExitCode.ok
  }

  private static let list = Command(
    "channel list", options: [json], summary: "list the channels; * marks the one to talk on"
  ) { invocation, context throws(CommandError) in
    let answer = try context.connect(invocation).ask(.channelList)
    return try Self.show(answer, [ChannelStatus].self, invocation, context) { channels in
      channels.isEmpty
        ? ["no channel yet: talkaround channel create NAME, or talkaround join"]
        : channels.map(StatusText.channelLine)
    }
  }

  private static let show = Command(
    "channel show", .optional("NAME"), options: [json],
    summary: "show a channel (the current one) with members and floor"
  ) { invocation, context throws(CommandError) in
    let parameters = channelParameter(invocation.argument)
    let answer = try context.connect(invocation).ask(.channelShow, parameters)
    return try Self.show(answer, ChannelStatus.self, invocation, context) {
      StatusText.channel($0)
    }
  }

  private static let use = Command(
    "channel use", .one("NAME"), summary: "talk on that channel from now on"
  ) { invocation, context throws(CommandError) in
    let client = try context.connect(invocation)
    let parameters = channelParameter(invocation.argument)
    let channel = try client.ask(.channelUse, parameters, as: ChannelStatus.self)
    context.print("talking on \(DisplayText.name(channel.name))")
    return ExitCode.ok
  }

  private static let leave = Command(
    "channel leave", .one("NAME"), summary: "leave a channel and forget it",
    notes: ["Coming back takes a new invite."]
  ) { invocation, context throws(CommandError) in
    let client = try context.connect(invocation)
    _ = try client.ask(.channelLeave, channelParameter(invocation.argument))
    context.print("left \(DisplayText.name(invocation.argument ?? ""))")
    return ExitCode.ok
  }

  /// Says what a channel's name became, where that is not what was wanted.
  static func cutNotice(wanted: String, got name: String) -> String? {
    wanted == name ? nil : RunOptions.cutNotice("the channel's name", name)
  }

  /// The parameter `channel`, where one was named.
  static func channelParameter(_ name: String?) -> [String: JSONValue] {
    name.map { ["channel": .string($0)] } ?? [:]
  }

  /// Prints an answer: as it is with --json, else the lines that `lines` makes of it.
  static func show<Value: Decodable>(
    _ answer: [UInt8], _ type: Value.Type, _ invocation: Invocation, _ context: Context,
    lines: (Value) -> [String]
  ) throws(CommandError) -> Int32 {
    if invocation.has("--json") {
      context.put(answer + [UInt8(ascii: "\n")])
      return ExitCode.ok
    }
    guard let value = JSONLine.decode(type, answer) else {
      throw CommandError(ControlError.notUnderstood)
    }
    for line in lines(value) { context.print(line) }
    return ExitCode.ok
  }
}
