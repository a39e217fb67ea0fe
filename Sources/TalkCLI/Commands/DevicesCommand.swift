import TalkKit

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
