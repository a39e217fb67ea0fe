import TalkKit

/// `talkaround invite`: lets others in for a while.
enum InviteCommand {
  static let command = Command(
    "invite",
    options: [
      Option("--channel", "NAME", help: "the channel; the current one unless given"),
      Option(
        "--for", "TIME", help: "how long newcomers are admitted: 90s, 30m, 2h; 10m unless given"),
      Option("--max", "N", help: "how many are admitted, 1 to 64; 1 unless given"),
    ],
    summary: "print an invite and admit who uses it",
    notes: [
      "The line is a secret: hand it over by a way that others cannot read, as with",
      "  talkaround invite | ssh ben-laptop talkaround join",
    ]
  ) { invocation, context throws(CommandError) in
    var parameters = ChannelCommands.channelParameter(invocation.value("--channel"))
    if let text = invocation.value("--for") {
      parameters["seconds"] = .integer(Int64(try seconds(text)))
    }
    if let text = invocation.value("--max") {
      let range = ControlLimits.inviteJoiners
      guard let count = Int(text), range.contains(count) else {
        throw .usage("--max \(text): must be from \(range.lowerBound) to \(range.upperBound)")
      }
      parameters["joiners"] = .integer(Int64(count))
    }
    let grant = try context.connect(invocation).ask(.invite, parameters, as: InviteGrant.self)
    context.print(DisplayText.line(grant.invite))
    let who = grant.joiners == 1 ? "one newcomer" : "\(grant.joiners) newcomers"
    context.tell(
      "Lets \(who) into \(DisplayText.name(grant.channel)) within \(time(grant.seconds)). "
        + "There: talkaround join, and paste the line.")
    return ExitCode.ok
  }

  /// The seconds of a time such as `90s`, `30m`, `2h` or `1d`.
  static func seconds(_ text: String) throws(CommandError) -> Int {
    let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    let range = ControlLimits.inviteSeconds
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int(text.dropLast()),
      count >= 0
    else { throw .usage("--for \(text): write a number and s, m, h or d, such as 30m") }
    let (seconds, over) = count.multipliedReportingOverflow(by: unit)
    guard !over, range.contains(seconds) else {
      throw .usage("--for \(text): must be from \(time(range.lowerBound)) to 24h")
    }
    return seconds
  }

  /// Seconds in the largest unit that fits.
  static func time(_ seconds: Int) -> String {
    if seconds % 3_600 == 0 { return "\(seconds / 3_600)h" }
    return seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds)s"
  }
}
