import TalkKit

/// Reports as lines for people.
enum StatusText {
  /// A channel, its members and its floor.
  static func channel(_ channel: ChannelStatus, ourID: String? = nil) -> [String] {
    let mark = channel.current ? "*" : " "
    let why = channel.reason.map { ": \($0.meaning)" } ?? ""
    let head = "\(mark) \(DisplayText.name(channel.name))  \(channel.status.rawValue)\(why)"
    return [head] + channel.members.map { "    \(member($0))" }
      + ["    floor: \(floor(channel, ourID: ourID))"]
  }

  /// A channel in one line.
  static func channelLine(_ channel: ChannelStatus) -> String {
    let mark = channel.current ? "*" : " "
    let present = channel.members.count { $0.state == .present }
    return "\(mark) \(DisplayText.name(channel.name))  \(channel.status.rawValue)  "
      + "\(present) here  \(DisplayText.name(channel.id))"
  }

  /// A member in one line.
  static func member(_ member: MemberStatus) -> String {
    var parts = [DisplayText.member(member.name, id: member.id), member.state.rawValue]
    if member.state == .present {
      parts.append(member.hearsMe ? "hears you" : "does not hear you")
      if !member.iHear { parts.append("you do not hear it") }
      if let rtt = member.roundTripMilliseconds { parts.append("\(tenths(rtt)) ms") }
      if member.lossTo >= 0.005 { parts.append("loses \(percent(member.lossTo))") }
      if member.lossFrom >= 0.005 { parts.append("you lose \(percent(member.lossFrom))") }
      if member.deaf { parts.append("deaf") }
    }
    if let role = member.role, role != "member" { parts.append(role) }
    let special = member.classes.filter { $0 == "priority" || $0 == "peril" }
    if !special.isEmpty { parts.append("may speak with \(special.joined(separator: ", "))") }
    return parts.joined(separator: "  ")
  }

  /// The floor in one line.
  static func floor(_ channel: ChannelStatus, ourID: String? = nil) -> String {
    let floor = channel.floor
    func name(_ id: String) -> String {
      if id == ourID { return "you" }
      let member = channel.members.first { $0.id == id }
      return member.map { DisplayText.name($0.name) } ?? DisplayText.name(String(id.prefix(8)))
    }
    var text =
      switch floor.state {
      case .idle: "free"
      case .taken: "\(floor.holder.map(name) ?? "somebody") speaks"
      case .requested: "asked for"
      case .queued: "you wait, place \(floor.place ?? 0)"
      case .ours: "you speak"
      }
    if floor.state == .queued, let holder = floor.holder { text += "; \(name(holder)) speaks" }
    if let since = floor.sinceMilliseconds { text += " (\(since / 1_000) s)" }
    if floor.floorClass != "normal" { text += ", \(DisplayText.name(floor.floorClass))" }
    if !floor.queue.isEmpty {
      text += "; queue: \(floor.queue.map(name).joined(separator: ", "))"
    }
    return text
  }

  /// A number with one decimal.
  static func tenths(_ value: Double) -> String {
    let scaled = Int((min(max(value, -1e9), 1e9) * 10).rounded())
    return "\(scaled / 10).\(abs(scaled % 10))"
  }

  private static func percent(_ share: Double) -> String {
    "\(Int((min(max(share, 0), 1) * 100).rounded())) %"
  }
}
