import Foundation
import TalkCore
import TalkDiscovery
import TalkMesh
import TalkNet

/// Links, the air, and Avahi.
extension DoctorGatherer {
  /// All interfaces with their addresses, and the way out.
  func gatherNetwork() {
    var network = DoctorFacts.Network()
    network.interfaces = Interface.all()
    network.defaultInterface = Route.defaultInterface(among: links)
    for link in links {
      for address in link.addresses {
        let endpoint = Endpoint(address: address.address, port: 0)
        let text = Self.text(of: endpoint)
        if endpoint.isLinkLocal {
          network.linkLocal[link.name, default: []].append(text)
        } else {
          network.addresses[link.name, default: []].append(text)
        }
      }
    }
    facts.network = network
  }

  /// An endpoint's address without its port and brackets.
  static func text(of endpoint: Endpoint) -> String {
    let text = endpoint.description
    return text[..<(text.lastIndex(of: ":") ?? text.endIndex)].filter { $0 != "[" && $0 != "]" }
  }

  /// Sends to everybody on each link, and listens.
  func gatherAir() {
    let status = facts.node.status
    // A node that hangs still has its port and its identity.
    let isFree = facts.node == .none && facts.state.lockHolder == nil
    do {
      let probe = try AirProbe(
        links: links, keys: keys, calls: isFree && !keys.isEmpty, nodePort: status?.node.port)
      facts.air = try probe.run()
    } catch {
      facts.air.fault = error.description
    }
    facts.air.firewall = Self.firewall()
  }

  /// Who keeps the firewall, to name the right command.
  private static func firewall() -> DoctorFacts.Air.Firewall {
    let ufw = PortTable.text(of: "/etc/ufw/ufw.conf").split(separator: "\n")
    if ufw.contains(where: { $0.lowercased() == "enabled=yes" }) { return .ufw }
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    let runs = processes.contains { name in
      Int32(name) != nil && PortTable.text(of: "/proc/\(name)/comm") == "firewalld\n"
    }
    return runs ? .firewalld : .rules
  }

  /// What Avahi has shown, less what is our own.
  func take(_ probe: AvahiProbe) {
    facts.avahi.daemon = probe.daemon
    let own = Set(links.flatMap(\.addresses).map(\.address))
    let port = facts.node.status?.node.port
    var members: [String: String] = [:]
    var others: Set<String> = []
    for service in probe.services.values {
      guard !(own.contains(service.endpoint.address) && service.endpoint.port == port) else {
        continue
      }
      others.insert(service.instance)
      let matches = ServiceRecord.matches(
        txt: service.text, instance: service.instance, channels: keys)
      if !matches.isEmpty { members[service.instance] = service.endpoint.description }
    }
    facts.avahi.services = others.count
    facts.avahi.members = members.values.sorted()
  }
}

/// Asks avahi-daemon, and browses meanwhile, by the node's own client of it.
final class AvahiProbe {
  /// How long the daemon may take to answer: one that was stopped makes a client wait for 25 s.
  private static let patience = Duration.seconds(4)
  /// How long services are waited for once it answers: 0.7 to 1.0 s is usual (mesh.md).
  private static let browsing = Duration.milliseconds(1_200)

  private let discovery: AvahiDiscovery?
  private let began = BootClock.now()
  /// What the daemon does.
  private(set) var daemon = DoctorFacts.Avahi.Daemon.silent
  /// The services of our type, by instance; the last endpoint of each.
  private(set) var services: [String: DiscoveredService] = [:]

  init() { discovery = try? AvahiDiscovery() }

  /// Waits for what is still to come; 4 s at most.
  func finish() {
    guard let discovery else { return }
    let deadline = began + Self.patience
    var answered: Instant?
    while BootClock.now() < deadline {
      discovery.events.drain { event in
        switch event {
        case .status(let status):
          take(status)
          answered = answered ?? BootClock.now()
        case .found(let service): services[service.instance] = service
        case .lost(let instance): services[instance] = nil
        case .published, .collision: break
        }
      }
      if daemon == .absent { break }
      if daemon == .running, let answered, BootClock.now() >= max(answered, began) + Self.browsing {
        break
      }
      var polled = pollfd(fd: discovery.events.fd, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&polled, 1, 50)
    }
    discovery.stop()
  }

  private func take(_ status: DiscoveryStatus) {
    switch status {
    case .running: daemon = .running
    case .registering: daemon = .settling
    case .daemonAbsent, .busAbsent: daemon = .absent
    case .notAnswering: daemon = .silent
    case .stopped: break
    }
  }
}
