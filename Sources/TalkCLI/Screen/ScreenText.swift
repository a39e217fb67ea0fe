import TalkKit

/// Draws the model as lines of text of exactly the terminal's width.
struct ScreenText {
  let width: Int
  let height: Int

  /// How loud full deflection is, and where the meter begins, in dB below full scale.
  private static let meterFloor = -60.0

  /// The lines from top to bottom, at most `height`.
  func lines(_ model: ScreenModel, keyIsDown: Bool) -> [String] {
    let foot = foot(model, keyIsDown: keyIsDown)
    let room = max(0, height - foot.count)
    var body = head(model)
    if let channel = model.channel {
      let rest = floor(channel, model)
      let roomForMembers = max(1, room - body.count - rest.count)
      body += members(channel, limit: roomForMembers) + rest
    }
    body = Array(body.prefix(room))
    body += Array(repeating: "", count: room - body.count)
    return (body + foot).prefix(max(0, height)).map { DisplayText.fit($0, to: width) }
  }

  private func head(_ model: ScreenModel) -> [String] {
    let rule = String(repeating: "─", count: width)
    guard let report = model.report else { return ["Talkaround", rule, "Connecting …"] }
    let me = DisplayText.member(report.node.name, id: report.node.id)
    guard let channel = model.channel else {
      return [
        "Talkaround   you are \(me)", rule, "No channel yet. In another terminal:",
        "  talkaround channel create NAME", "  talkaround join",
      ]
    }
    let why = channel.reason.map { ": \($0.meaning)" } ?? ""
    let others = report.channels.filter { !$0.current }.map { DisplayText.name($0.name) }
    var lines = [
      "\(DisplayText.name(channel.name))   \(channel.status.rawValue)\(why)   you are \(me)", rule,
    ]
    if !others.isEmpty { lines.append("also on: \(others.joined(separator: ", "))") }
    return lines
  }

  private func members(_ channel: ChannelStatus, limit: Int) -> [String] {
    guard !channel.members.isEmpty else {
      return ["Nobody else yet. In another terminal: talkaround invite"]
    }
    let order: [MemberStatus.State] = [.wantsIn, .present, .away]
    let sorted = order.flatMap { state in channel.members.filter { $0.state == state } }
    guard sorted.count > limit else { return sorted.map(StatusText.member) }
    return sorted.prefix(limit - 1).map(StatusText.member)
      + ["… and \(sorted.count - limit + 1) more"]
  }

  private func floor(_ channel: ChannelStatus, _ model: ScreenModel) -> [String] {
    var lines = [
      "", "Floor: \(StatusText.floor(channel, ourID: model.report?.node.id))",
      "Level: [\(meter(model.level))]",
    ]
    let last = model.speakers.map { speaker in
      speaker.duration.map { "\(speaker.name) \(StatusText.tenths($0 / 1_000)) s" }
        ?? "\(speaker.name) …"
    }
    if !last.isEmpty { lines.append("Last:  \(last.joined(separator: ", "))") }
    return lines
  }

  private func meter(_ level: Double?) -> String {
    let size = max(1, min(40, width - 10))
    let share = ((level ?? Self.meterFloor) - Self.meterFloor) / -Self.meterFloor
    let full = Int((min(max(share, 0), 1) * Double(size)).rounded())
    return String(repeating: "#", count: full) + String(repeating: " ", count: size - full)
  }

  private func foot(_ model: ScreenModel, keyIsDown: Bool) -> [String] {
    wrapped(model.message) + keys(Self.keyHint(model.channel?.floor.state, keyIsDown: keyIsDown))
  }

  /// What the space bar does now.
  static func keyHint(_ state: FloorState?, keyIsDown: Bool) -> String {
    switch (state, keyIsDown) {
    case (.ours, _), (.idle, true), (nil, true): "SPACE ends talking"
    // The key may be down elsewhere: 'talk press'.
    case (.queued, _), (.requested, _), (.taken, true): "SPACE gives up waiting"
    case (.taken, false): "SPACE asks for the floor"
    case (.idle, false), (nil, false): "SPACE talks, again ends"
    }
  }

  /// The keys in as few lines as they fit into.
  private func keys(_ hint: String) -> [String] {
    let note = "(this terminal reports no releases)"
    let layouts = [
      ["\(hint) \(note)   q quits"], ["\(hint) \(note)", "q quits"], ["\(hint)   q quits", note],
      ["\(hint)   q quits"],
    ]
    return layouts.first { $0.allSatisfy { DisplayText.columns($0) <= width } } ?? [
      hint, "q quits",
    ]
  }

  /// A text in at most two lines, broken at blanks.
  private func wrapped(_ text: String) -> [String] {
    guard DisplayText.columns(text) > width else { return [text] }
    var first = ""
    var rest = text.split(separator: " ", omittingEmptySubsequences: false)[...]
    while let word = rest.first,
      DisplayText.columns(first) + 1 + DisplayText.columns(String(word)) <= width
    {
      first += (first.isEmpty ? "" : " ") + word
      rest.removeFirst()
    }
    return first.isEmpty ? [text] : [first, rest.joined(separator: " ")]
  }
}
