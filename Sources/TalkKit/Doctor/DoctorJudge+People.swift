import TalkCore

/// Members, their names and rights, and how the node is started.
extension DoctorJudge {
  /// A share of lost datagrams that is heard.
  private static let badLoss = 0.05
  /// A round trip that is felt, in milliseconds.
  private static let badRoundTrip = 150.0

  var linger: DoctorOpinion {
    let login = facts.login
    guard login.hasSystemd else { return .skipped("systemd does not run here") }
    guard login.isUnitEnabled else { return .skipped("the node is not started at login") }
    if login.lingers { return .ok("the node runs without a login") }
    if login.hasScreen { return .ok("the node starts when you log in") }
    return .warning(
      "without a screen the node ends when you log out, and does not start with the machine",
      cure: "loginctl enable-linger \(Self.quoted(login.user))")
  }

  var admins: DoctorOpinion {
    let grown = facts.channels.filter { $0.members > 1 && !$0.isJoining }
    guard !grown.isEmpty else { return .skipped("no channel with other members yet") }
    let single = grown.filter { $0.admins.count == 1 }
    guard let channel = single.first else { return .ok("more than one on each channel") }
    let members = (facts.node.status?.channels ?? []).flatMap(\.members)
    let admin = members.first { $0.id.hasPrefix(channel.admins[0]) }
    let name = admin.map { Self.shown($0.name) } ?? "member \(channel.admins[0])"
    let who = channel.isAdmin ? "you are" : "\(name) is"
    let names = single.map { Self.shown($0.name) }.joined(separator: ", ")
    return .warning(
      "\(who) the only admin of \(names): if that laptop is lost, nobody can make admins",
      cure: "\(channel.isAdmin ? "" : "there: ")talkaround members set PEER --admin",
      ["channels": names])
  }

  var names: DoctorOpinion {
    guard let status = facts.node.status else { return .skipped("needs a running node") }
    var clashes: [String] = []
    var count = 0
    for channel in status.channels {
      var seen = [Self.folded(status.node.name)]
      for member in channel.members where member.state != .wantsIn {
        count += 1
        let name = Self.folded(member.name)
        if seen.contains(name) { clashes.append(member.name) }
        seen.append(name)
      }
    }
    guard count > 0 else { return .skipped("no other member yet") }
    guard let first = clashes.first else { return .ok("all different") }
    let isOurs = Self.folded(status.node.name) == Self.folded(first)
    let name = Self.shown(first)
    return .warning(
      isOurs ? "another member is called \(name) too" : "two members are called \(name)",
      cure: isOurs ? "talkaround run --name NICK" : "one of them: talkaround run --name NICK",
      ["names": clashes.map(Self.shown).joined(separator: ", ")])
  }

  /// A name as people hear it: what differs in case or hidden characters alone is the same.
  private static func folded(_ name: String) -> String {
    (SafeText.name(name) ?? "").lowercased()
  }

  var peer: DoctorOpinion {
    guard let wanted = facts.wanted else { return .skipped("nobody was named") }
    guard let status = facts.node.status else {
      return .failed("no node runs, so nobody can be heard", cure: "talkaround run")
    }
    let members = status.channels.flatMap(\.members)
    let fits = members.filter { $0.name == wanted || $0.id.hasPrefix(wanted.lowercased()) }
    // A member of several channels is told by the one where it is best reached.
    guard let member = fits.first(where: { $0.state == .present }) ?? fits.first else {
      let known = members.map { "\(Self.shown($0.name)) (\($0.id.prefix(8)))" }
      return .failed(
        "no member is called \(Self.shown(wanted))",
        cure: known.isEmpty
          ? "let it join: talkaround invite" : "name one of: \(known.joined(separator: ", "))")
    }
    return opinion(on: member)
  }

  private func opinion(on member: MemberStatus) -> DoctorOpinion {
    let name = Self.shown(member.name)
    let path = member.endpoint.map { " at \($0)" } ?? ""
    var facts = [
      "id": member.id, "state": member.state.rawValue, "hears_me": "\(member.hearsMe)",
      "i_hear": "\(member.iHear)", "loss_to": "\(member.lossTo)", "loss_from": "\(member.lossFrom)",
    ]
    if let endpoint = member.endpoint { facts["endpoint"] = endpoint }
    if let rtt = member.roundTripMilliseconds { facts["rtt_ms"] = "\(rtt)" }
    switch member.state {
    case .wantsIn:
      return .failed(
        "\(name) is not admitted yet", cure: "talkaround invite, while it waits", facts)
    case .away:
      return .failed("\(name) is not heard\(path)", cure: Self.silentCure(name), facts)
    case .present: break
    }
    guard member.iHear, member.hearsMe else {
      let what = member.iHear ? "\(name) does not hear you" : "you do not hear \(name)"
      let side = member.iHear ? "on \(name)'s laptop" : "here"
      return .failed(
        what + path, cure: "open UDP port \(port(of: member)) \(side), then doctor there too", facts
      )
    }
    let loss = max(member.lossTo, member.lossFrom)
    let rtt = member.roundTripMilliseconds ?? 0
    let figures =
      "\(name) hears you and you hear it\(path), round trip \(Self.tenths(rtt)) ms, loses "
      + "\(Self.percent(member.lossTo)), you lose \(Self.percent(member.lossFrom))"
    guard loss <= Self.badLoss, rtt <= Self.badRoundTrip else {
      return .warning(
        figures, cure: "move nearer to the access point, use 5 GHz, or a cable", facts)
    }
    return .ok(figures, facts)
  }

  /// The port that a member is reached on.
  private func port(of member: MemberStatus) -> String {
    let digits = member.endpoint?.split(separator: ":").last.map(String.init)
    return digits ?? "\(ourPort)"
  }

  static func silentCure(_ name: String) -> String {
    "start talkaround there, on the same network; guest Wi-Fi often keeps laptops apart: use a "
      + "cable, or a hotspot (\(hotspot))"
  }

  /// The command that makes a network of a laptop.
  static let hotspot = "nmcli device wifi hotspot"

  private static func tenths(_ value: Double) -> String {
    let scaled = Int((min(max(value, 0), 1e9) * 10).rounded())
    return "\(scaled / 10).\(scaled % 10)"
  }

  private static func percent(_ share: Double) -> String {
    "\(Int((min(max(share, 0), 1) * 100).rounded())) %"
  }
}
