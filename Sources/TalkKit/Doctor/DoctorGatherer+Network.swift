import FoundationEssentials
import Glibc
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

  /// Sends to everybody on each link, calls whom we know of, and listens.
  func gatherAir(_ browsing: AvahiProbe?) {
    let status = facts.node.status
    // A node that hangs still has its port and its identity.
    let isFree = facts.node == .none && facts.state.lockHolder == nil
    do {
      let probe = try AirProbe(
        links: links, channels: channels, nodePort: isFree ? nil : status?.node.port ?? 0)
      if isFree, let identity, !channels.isEmpty {
        probe.call = MemberCall(identity: identity, channels: channels)
        probe.contacts = Array(remembered.prefix(AirProbe.contactLimit))
        probe.browse = { [channels] in browsing?.contacts(of: channels) ?? [] }
      }
      facts.air = try probe.run()
    } catch {
      facts.air.fault = error.description
    }
    facts.air.firewall = Self.firewall()
  }

  /// Who keeps the firewall, to name the right command.
  private static func firewall() -> DoctorFacts.Air.Firewall {
    let ufw = SystemFile.text(of: "/etc/ufw/ufw.conf").split(separator: "\n")
    if ufw.contains(where: { $0.lowercased() == "enabled=yes" }) { return .ufw }
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    let runs = processes.contains { name in
      Int32(name) != nil && SystemFile.text(of: "/proc/\(name)/comm") == "firewalld\n"
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
      if !service.matches(channels).isEmpty {
        members[service.instance] = service.endpoint.description
      }
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
  private var answered: Instant?
  /// What the daemon does.
  private(set) var daemon = DoctorFacts.Avahi.Daemon.silent
  /// The services of our type, by instance; the last endpoint of each.
  private(set) var services: [String: DiscoveredService] = [:]

  init() { discovery = try? AvahiDiscovery() }

  /// Waits for what is still to come; 4 s at most.
  func finish() {
    guard let discovery else { return }
    let deadline = began + Self.patience
    while BootClock.now() < deadline {
      drain()
      if daemon == .absent { break }
      if daemon == .running, let answered, BootClock.now() >= max(answered, began) + Self.browsing {
        break
      }
      var polled = pollfd(fd: discovery.events.fd, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&polled, 1, 50)
    }
    discovery.stop()
  }

  private func drain() {
    discovery?.events.drain { event in
      switch event {
      case .status(let status): take(status)
      case .found(let service): services[service.instance] = service
      case .lost(let instance): services[instance] = nil
      case .published, .collision: break
      }
    }
  }

  /// The members of our channels that are announced so far.
  func contacts(of channels: [DoctorChannel]) -> [DoctorContact] {
    drain()
    return services.values.sorted { $0.instance < $1.instance }.flatMap { service in
      service.matches(channels).map { DoctorContact(channel: $0, endpoint: service.endpoint) }
    }
  }

  private func take(_ status: DiscoveryStatus) {
    answered = answered ?? BootClock.now()
    switch status {
    case .running: daemon = .running
    case .registering: daemon = .settling
    case .daemonAbsent, .busAbsent: daemon = .absent
    case .notAnswering: daemon = .silent
    case .stopped: break
    }
  }
}

extension DiscoveredService {
  /// The channels of ours that it announces.
  func matches(_ channels: [DoctorChannel]) -> [ChannelID] {
    ServiceRecord.matches(
      txt: text, instance: instance, channels: channels.map { ($0.id, $0.keys) })
  }
}
