import TalkKit

/// `talkaround members`.
enum MembersCommand {
  static let command = Command(
    "members", .optional("CHANNEL"), options: [ChannelCommands.json],
    summary: "list who is on a channel, and who hears whom"
  ) { invocation, context throws(CommandError) in
    let parameters = ChannelCommands.channelParameter(invocation.argument)
    let answer = try context.connect(invocation).ask(.members, parameters)
    return try ChannelCommands.show(answer, [MemberStatus].self, invocation, context) { members in
      members.isEmpty ? ["nobody else yet: talkaround invite"] : members.map(StatusText.member)
    }
  }
}

/// `talkaround status`.
enum StatusCommand {
  static let command = Command(
    "status", options: [ChannelCommands.json],
    summary: "show the node, its channels and who speaks",
    notes: ["With --json: version 1; keys are only ever added."]
  ) { invocation, context throws(CommandError) in
    let answer = try context.connect(invocation).ask(.status)
    return try ChannelCommands.show(answer, StatusReport.self, invocation, context, lines: lines)
  }

  static func lines(_ report: StatusReport) -> [String] {
    let node = report.node
    let head = [
      "\(DisplayText.member(node.name, id: node.id))  port \(node.port)  "
        + "talkaround \(DisplayText.name(node.version))",
      "microphone \(DisplayText.line(node.audio.capture))  "
        + "loudspeaker \(DisplayText.line(node.audio.playback))",
      "avahi \(DisplayText.name(node.discovery.avahi))  "
        + "hello \(DisplayText.name(node.discovery.hello))",
    ]
    guard !report.channels.isEmpty else {
      return head + ["no channel yet: talkaround channel create NAME, or talkaround join"]
    }
    return head + report.channels.flatMap { StatusText.channel($0, ourID: node.id) }
  }
}

/// `talkaround devices`.
enum DevicesCommand {
  static let command = Command(
    "devices", options: [ChannelCommands.json],
    summary: "list microphones and loudspeakers, by the names that 'run' takes"
  ) { invocation, context throws(CommandError) in
    let answer = try context.connect(invocation).ask(.devices)
    return try ChannelCommands.show(answer, DeviceReport.self, invocation, context) { report in
      let why = report.reason.map { [$0.meaning] } ?? []
      return why + lines("--capture", report.capture) + lines("--playback", report.playback)
    }
  }

  private static func lines(_ option: String, _ devices: [DeviceReport.Device]) -> [String] {
    devices.map { device in
      let marks = (device.isInUse ? "  in use" : "") + (device.isDefault ? "  default" : "")
      return "\(option) \(DisplayText.line(device.name))  "
        + "\(DisplayText.line(device.label))\(marks)"
    }
  }
}

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
