import TalkNet

/// Port, bus, Avahi, links and what passes over them.
extension DoctorJudge {
  /// The port that the node has, or would ask for.
  var ourPort: UInt16 { facts.node.status?.node.port ?? UDPSocket.port }

  /// How old a HELLO may be, in milliseconds, to say that its sender is there: ten members send one
  /// each 5 s, a hundred each 33 s.
  private static let fresh = 30_000

  /// Members that are known and should be here, by all channels.
  private var others: Int { facts.channels.reduce(0) { $0 + max(0, $1.members - 1) } }

  /// True when we wait for somebody: a member, or whoever invited us.
  private var awaitsSomebody: Bool { others > 0 || facts.channels.contains(where: \.isJoining) }

  /// Members that the running node has sessions with.
  private var present: [MemberStatus] {
    (facts.node.status?.channels ?? []).flatMap(\.members).filter { $0.state == .present }
  }

  var port: DoctorOpinion {
    let standard = UDPSocket.port
    let range = standard...standard + 15
    let foreign = facts.ports.filter { !$0.isNode && range.contains($0.port) }
    if let status = facts.node.status {
      let port = status.node.port
      guard port != standard, let owner = foreign.first(where: { $0.port == standard }) else {
        return .ok("the node has UDP port \(port)", ["port": "\(port)"])
      }
      return .warning(
        "the node has UDP port \(port), because \(Self.who(owner)) has \(standard)",
        cure: Self.stopping(owner) + ", and start the node again", ["port": "\(port)"])
    }
    let free = range.first { port in !facts.ports.contains { $0.port == port } }
    guard let free else {
      let owner = foreign.first ?? facts.ports.first
      return .failed(
        "UDP ports \(range.lowerBound) to \(range.upperBound) are all taken"
          + (owner.map { ", the first by \(Self.who($0))" } ?? ""),
        cure: (owner.map(Self.stopping) ?? "stop what has them (ss -lunp)")
          + ", or set another: talkaround run --port N")
    }
    if let owner = foreign.first(where: { $0.port == standard }) {
      return .warning(
        "UDP port \(standard) is taken by \(Self.who(owner)): a node would take \(free)",
        cure: Self.stopping(owner) + ", or open \(free) in the firewall too",
        ["port": "\(free)", "process": owner.process.map { "\($0)" } ?? ""])
    }
    let note = free == standard ? "" : "; another node of this machine has \(standard)"
    return .ok("UDP port \(free) is free\(note)", ["port": "\(free)"])
  }

  private static func who(_ owner: DoctorFacts.PortUse) -> String {
    guard let process = owner.process else { return "a program of another user" }
    return "\(shown(owner.program)) (process \(process))"
  }

  private static func stopping(_ owner: DoctorFacts.PortUse) -> String {
    owner.process.map { "stop it: kill \($0)" } ?? "stop it (sudo ss -lunp names it)"
  }

  // MARK: Avahi

  var dbus: DoctorOpinion {
    let start = "sudo systemctl start dbus"
    switch facts.bus {
    case .answering: return .ok("the system bus answers")
    case .absent where !facts.avahi.isInstalled && facts.avahi.daemon == .absent:
      return .ok("none; without avahi-daemon nothing asks for it")
    case .absent(let path):
      return .failed("no system bus at \(path): Avahi can't be asked", cure: start)
    case .silent(let path):
      return .failed(
        "the system bus at \(path) does not answer", cure: "sudo systemctl restart dbus")
    case .denied(let path):
      return .failed(
        "no permission for the system bus at \(path)", cure: "check its mode; \(start)")
    }
  }

  var avahi: DoctorOpinion {
    let avahi = facts.avahi
    if facts.node.status?.node.discovery.avahi == "off" {
      return .skipped("the node runs with --no-avahi")
    }
    switch avahi.daemon {
    case .running:
      let count = avahi.services
      return .ok(
        "avahi-daemon answers, \(count) other \(count == 1 ? "node" : "nodes") seen",
        ["services": "\(count)"])
    case .settling:
      return .warning(
        "avahi-daemon is still choosing a host name", cure: "sudo systemctl restart avahi-daemon")
    case .silent:
      return .failed(
        "avahi-daemon does not answer", cure: "sudo systemctl restart avahi-daemon")
    case .absent:
      guard avahi.isInstalled else {
        return .warning(
          "avahi-daemon is not installed; members are found by HELLO alone",
          cure: "sudo apt install avahi-daemon")
      }
      return .failed(
        "avahi-daemon is not running; members are found by HELLO alone",
        cure: "sudo systemctl start avahi-daemon")
    }
  }

  // MARK: Links

  /// Interfaces that can lead to other laptops.
  private var cards: [Interface] { facts.network.interfaces.filter { $0.kind == .usual } }

  private func addresses(of interface: Interface) -> [String] {
    let routed = facts.network.addresses[interface.name] ?? []
    return routed.isEmpty ? facts.network.linkLocal[interface.name] ?? [] : routed
  }

  var network: DoctorOpinion {
    let live = cards.filter { $0.isUp && $0.hasCarrier }
    let usable = live.filter { !addresses(of: $0).isEmpty }
    if !usable.isEmpty {
      let list = usable.map { card in
        "\(card.name)\(card.isWireless ? " (Wi-Fi)" : "") "
          + addresses(of: card).joined(separator: " ")
      }
      let names = usable.map(\.name).joined(separator: " ")
      return .ok(list.joined(separator: ", "), ["interfaces": names])
    }
    if let card = live.first {
      return .failed(
        "\(card.name) has no address",
        cure: "sudo dhclient \(card.name), or ask who runs the "
          + "network; two laptops on one cable: set IPv4 to 'link-local only' on both")
    }
    if let card = cards.first(where: { $0.isUp }) {
      return .failed(
        "\(card.name) has no carrier",
        cure: card.isWireless
          ? "join a Wi-Fi network: nmcli device wifi connect NAME"
          : "plug in the cable, or join a Wi-Fi network")
    }
    if let card = cards.first {
      return .failed("\(card.name) is switched off", cure: "sudo ip link set \(card.name) up")
    }
    let rest = facts.network.interfaces.filter { $0.kind != .loopback }.map(\.name)
    guard rest.isEmpty else {
      return .failed(
        "only \(rest.joined(separator: " ")): bridges, containers and tunnels lead to no laptop",
        cure: "plug in a cable, or join a Wi-Fi network")
    }
    return .failed("no network interface", cure: "plug in a network adapter, or its driver")
  }

  var vpn: DoctorOpinion {
    guard let name = facts.network.defaultInterface,
      let interface = facts.network.interfaces.first(where: { $0.name == name }),
      interface.kind == .tunnel
    else { return .ok("none holds the way out") }
    let found = "\(name), a VPN, holds the way out"
    let facts = ["interface": name]
    if !present.isEmpty || !self.facts.air.callers.isEmpty {
      return .ok("\(found); members are reached all the same", facts)
    }
    return .warning(
      found + ": it may swallow what is for this network",
      cure: "allow local network access in its settings, or disconnect it", facts)
  }

  // MARK: The air

  /// The links on which others can be; the rest is tried, and says nothing of the way to them.
  private var outer: [DoctorFacts.Air.LinkProbe] { facts.air.links.filter { $0.kind == .usual } }

  var multicast: DoctorOpinion {
    if let fault = facts.air.fault {
      return .failed("nothing could be sent: \(fault)", cure: "talkaround doctor, once more")
    }
    guard !outer.isEmpty else {
      return .failed(
        "no link takes multicast",
        cure: "use another network, or name members: "
          + "talkaround run --peer HOST:PORT")
    }
    let names = outer.map(\.name).joined(separator: " ")
    let mute = outer.filter { $0.sendError != nil }
    if mute.count == outer.count, let error = mute[0].sendError {
      let reason = SystemText.of(error)
      return .failed(
        "sending on \(mute[0].name) is refused: \(reason)", cure: firewallCure,
        ["errno": "\(error)"])
    }
    let deaf = outer.filter { !$0.heard && $0.sendError == nil }
    guard deaf.count < outer.count - mute.count else {
      return .failed(
        "sent on \(names), and not even our own copy came back: a firewall drops UDP port "
          + "\(UDPSocket.port)", cure: firewallCure, ["port": "\(UDPSocket.port)"])
    }
    let heard = outer.filter(\.heard).map(\.name).joined(separator: " ")
    if let link = deaf.first {
      return .warning(
        "heard on \(heard), and not on \(link.name): a firewall drops UDP port \(UDPSocket.port) "
          + "there", cure: firewallCure, ["interfaces": heard, "deaf": link.name])
    }
    return .ok("sent, and our own copy heard, on \(heard)", ["interfaces": heard])
  }

  /// How to open our port here.
  private var firewallCure: String {
    let port = UDPSocket.port
    switch facts.air.firewall {
    case .ufw: return "sudo ufw allow \(port)/udp"
    case .firewalld:
      return "sudo firewall-cmd --permanent --add-port=\(port)/udp && sudo firewall-cmd --reload"
    case .rules:
      return
        "let UDP port \(port) in: sudo nft insert rule inet filter input udp dport \(port) accept"
    }
  }

  var peers: DoctorOpinion {
    let seen = present.count
    if seen > 0 { return .ok("\(Self.members(seen)) in touch", ["present": "\(seen)"]) }
    let called = Set(facts.air.callers + facts.air.members).count
    if called > 0 { return .ok("\(Self.members(called)) in reach", ["in_reach": "\(called)"]) }
    if hearsWithoutAnswer { return .ok("HELLOs of members arrive") }
    guard awaitsSomebody else {
      let foreign = facts.air.foreign + facts.avahi.services
      let note = foreign > 0 ? "; other groups are on this network" : ""
      return .ok("no other member yet\(note)")
    }
    guard !hasFailed(.multicast) else { return .skipped("needs: Multicast") }
    let wireless = cards.contains { $0.isUp && $0.hasCarrier && $0.isWireless }
    let network = wireless ? "this Wi-Fi" : "this network"
    return .warning(
      "nobody is heard, though \(expected): \(network) keeps its clients apart, as guest Wi-Fi "
        + "does, or they are off or elsewhere",
      cure: "use a cable, or a hotspot of your own (\(Self.hotspot)); known address: talkaround "
        + "run --peer HOST:PORT")
  }

  private var expected: String {
    // mDNS shows for over an hour what was switched off (RFC 6762, section 10).
    if let announced = facts.avahi.members.first { return "mDNS still shows \(announced)" }
    return others > 0 ? "\(Self.members(others)) could be here" : "an inviter is awaited"
  }

  private static func members(_ count: Int) -> String {
    "\(count) \(count == 1 ? "member" : "members")"
  }

  var unicast: DoctorOpinion {
    if hasFailed(.multicast), present.isEmpty { return .skipped("needs: Multicast") }
    if !present.isEmpty {
      guard present.contains(where: \.hearsMe) else {
        return .failed(
          "\(Self.shown(present[0].name)) is heard and does not hear you",
          cure: "open UDP port \(UDPSocket.port) there: talkaround doctor on that laptop says how")
      }
      if let deaf = present.first(where: { $0.iHear && !$0.hearsMe }) {
        return .warning(
          "\(Self.shown(deaf.name)) does not hear you",
          cure: "talkaround doctor --with \(deaf.id.prefix(8))")
      }
      return .ok("answers arrive from \(Self.members(present.count))")
    }
    if let caller = facts.air.callers.first {
      let more = facts.air.callers.count - 1
      let list = facts.air.callers.joined(separator: " ")
      return .ok("\(caller)\(more > 0 ? " and \(more) more" : "") answered", ["from": list])
    }
    let ending = "no answer reaches UDP port \(ourPort): a firewall here or there drops it"
    if let member = facts.air.members.first {
      return .failed("\(member) is heard, and \(ending)", cure: firewallCure)
    }
    if hearsWithoutAnswer {
      return .failed("a member's HELLOs are heard, and \(ending)", cure: firewallCure)
    }
    return .skipped("nobody is there to answer")
  }

  /// How long ago the running node heard a member's HELLO, in milliseconds.
  private var helloAge: Int? { facts.node.status?.node.discovery.hellos.heardMilliseconds }

  /// True when the running node goes on hearing members' HELLOs, and no session came of them. Not
  /// while somebody waits to be admitted, who sends HELLOs and gets no session; and not of HELLOs
  /// that came before the member left.
  private var hearsWithoutAnswer: Bool {
    guard let status = facts.node.status, let age = helloAge, age < Self.fresh, others > 0,
      status.node.discovery.hellos.heard > 2, !facts.channels.contains(where: \.isJoining)
    else { return false }
    let members = status.channels.flatMap(\.members)
    return members.allSatisfy { member in
      member.state == .away && (member.silentMilliseconds.map { $0 > age + 5_000 } ?? true)
    }
  }
}
