import TalkKit

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
