import TalkAudio
import TalkNet

@testable import TalkKit

extension DoctorJudgeTests.Case {
  static let files: [Self] = [
    Self(
      name: "another version runs", spoil: { $0.changeStatus { $0.node.version = "0.0.1" } },
      check: .version, verdict: .warning, found: "the running node is 0.0.1", cure: "stop"),
    Self(
      name: "a clock of 1970", spoil: { $0.clock.now = 60 }, check: .clock, verdict: .warning,
      found: "20717 days or more behind: /state/boot", cure: "timedatectl"),
    Self(
      name: "no HOME", base: .fresh, spoil: { $0.state.path = "" }, check: .state,
      verdict: .failed, found: "HOME", cure: "--state DIR"),
    Self(
      name: "a loose mode",
      spoil: {
        $0.state.faults = [
          .init(what: "/state: others may use it", cure: "chmod go= '/state'", loosePath: "/state")
        ]
      }, check: .state, verdict: .failed, found: "others may use it", cure: "chmod go="),
    Self(
      name: "two bad files",
      spoil: {
        $0.state.faults = [
          .init(what: "/state/peers: is empty", cure: "move it away", isCache: true),
          .init(what: "/state/identity: is empty", cure: "restore it"),
        ]
      }, check: .state, verdict: .failed, found: "/state/identity: is empty; and 1 more",
      cure: "restore it"),
    Self(
      name: "a bad cache",
      spoil: {
        $0.state.faults = [.init(what: "/state/peers: is empty", cure: "away", isCache: true)]
      }, check: .state, verdict: .warning, found: "/state/peers", cure: "away"),
    Self(
      name: "a full disk", spoil: { $0.state.freeBytes = 1_023 << 10 }, check: .disk,
      verdict: .failed, found: "1023 KiB free", cure: "free some space"),
    Self(
      name: "a nearly full disk", spoil: { $0.state.freeBytes = 1 << 20 }, check: .disk,
      verdict: .warning, found: "only 1 MiB", cure: "free some space"),
    Self(
      name: "no inodes", spoil: { $0.state.hasNoFilesLeft = true }, check: .disk,
      verdict: .failed, found: "no more files", cure: "df -i"),
    Self(
      name: "a read-only disk", spoil: { $0.state.isReadOnly = true }, check: .disk,
      verdict: .failed, found: "read-only", cure: "mount it writable"),
    Self(
      name: "no permission", spoil: { $0.state.isWritable = false }, check: .disk,
      verdict: .failed, found: "no permission to write /state", cure: "owner"),
    Self(
      name: "a copied identity", spoil: { $0.state.isElsewhere = true }, check: .identity,
      verdict: .warning, found: "another machine", cure: "--state DIR"),
    Self(
      name: "a hidden character in the own name",
      spoil: { $0.changeStatus { $0.node.name = "anna\u{200b}" } }, check: .identity,
      verdict: .warning, found: "\"anna\\u{200b}\" has hidden", cure: "--name"),
    Self(
      name: "a name that says nothing", base: .withoutNode,
      spoil: { $0.state.nickname = "localhost" }, check: .identity, verdict: .warning,
      found: "says nothing", cure: "--name"),
  ]

  static let node: [Self] = [
    Self(
      name: "a node that hangs", base: .withoutNode,
      spoil: {
        $0.node = .silent
        $0.state.lockHolder = 99
      }, check: .node, verdict: .failed, found: "(process 99) and does not answer",
      cure: "kill 99"),
    Self(
      name: "a lock without a socket", base: .withoutNode, spoil: { $0.state.lockHolder = 99 },
      check: .node, verdict: .failed, found: "process 99 uses", cure: "kill 99"),
    Self(
      name: "a node of another version", base: .withoutNode, spoil: { $0.node = .other },
      check: .node, verdict: .failed, found: "another version", cure: "talkaround stop"),
    Self(
      name: "a socket that is not ours", base: .withoutNode,
      spoil: { $0.node = .unusable("/s: permission denied", cure: "check its owner") },
      check: .node, verdict: .failed, found: "/s: permission denied", cure: "check its owner"),
    Self(
      name: "the node had to take another port",
      spoil: {
        $0.changeStatus { $0.node.port = 41_718 }
        $0.ports = [.init(port: 41_717, process: 7, program: "socat")]
      }, check: .port, verdict: .warning, found: "because socat (process 7) has 41717",
      cure: "kill 7"),
    Self(
      name: "a port of another user's", base: .withoutNode,
      spoil: { $0.ports = [.init(port: 41_717)] }, check: .port, verdict: .warning,
      found: "taken by a program of another user: a node would take 41718", cure: "ss -lunp"),
    Self(
      name: "no port left", base: .withoutNode,
      spoil: { $0.ports = (41_717...41_732).map { .init(port: $0, process: 7, program: "x") } },
      check: .port, verdict: .failed, found: "41717 to 41732 are all taken", cure: "--port N"),
    Self(
      name: "another node has the first port", base: .withoutNode,
      spoil: { $0.ports = [.init(port: 41_717, process: 7, program: "talk", isNode: true)] },
      check: .port, verdict: .ok, found: "41718 is free; another node"),
  ]

  static let network: [Self] = [
    Self(
      name: "no bus", spoil: { $0.bus = .absent("/bus") }, check: .dbus, verdict: .failed,
      found: "/bus", cure: "start dbus"),
    Self(
      name: "a bus that hangs", spoil: { $0.bus = .silent("/bus") }, check: .dbus,
      verdict: .failed, found: "does not answer", cure: "restart dbus"),
    Self(
      name: "no Avahi", spoil: { $0.avahi.daemon = .absent }, check: .avahi, verdict: .failed,
      found: "not running", cure: "start avahi-daemon"),
    Self(
      name: "Avahi not installed",
      spoil: {
        $0.avahi.daemon = .absent
        $0.avahi.isInstalled = false
      }, check: .avahi, verdict: .warning, found: "not installed", cure: "apt install"),
    Self(
      name: "neither Avahi nor a bus",
      spoil: {
        $0.bus = .absent("/bus")
        $0.avahi.daemon = .absent
        $0.avahi.isInstalled = false
      }, check: .avahi, verdict: .warning, found: "by HELLO alone", cure: "apt install"),
    Self(
      name: "Avahi hangs", spoil: { $0.avahi.daemon = .silent }, check: .avahi,
      verdict: .failed, found: "does not answer", cure: "restart avahi-daemon"),
    Self(
      name: "Avahi is not wanted",
      spoil: {
        $0.changeStatus { $0.node.discovery.avahi = "off" }
        $0.avahi.daemon = .absent
      }, check: .avahi, verdict: .skipped, found: "--no-avahi"),
    Self(
      name: "no access point", base: .fresh,
      spoil: { $0.network.interfaces[1].hasCarrier = false }, check: .network, verdict: .failed,
      found: "wlan0 has no carrier", cure: "nmcli device wifi connect"),
    Self(
      name: "a card that is off", base: .fresh, spoil: { $0.network.interfaces[1].isUp = false },
      check: .network, verdict: .failed, found: "switched off", cure: "ip link set wlan0 up"),
    Self(
      name: "no address", base: .fresh, spoil: { $0.network.addresses = [:] }, check: .network,
      verdict: .failed, found: "wlan0 has no address", cure: "dhclient wlan0"),
    Self(
      name: "a link-local address alone", base: .fresh,
      spoil: {
        $0.network.addresses = [:]
        $0.network.linkLocal = ["wlan0": ["fe80::1"]]
      }, check: .network, verdict: .ok, found: "wlan0 (Wi-Fi) fe80::1"),
    Self(
      name: "bridges alone", base: .fresh,
      spoil: { $0.network.interfaces[1] = Interface(name: "docker0", index: 2, kind: .bridge) },
      check: .network, verdict: .failed, found: "only docker0", cure: "cable"),
    Self(
      name: "a VPN while nobody is here", base: .fresh, spoil: { $0.addVPN() }, check: .vpn,
      verdict: .warning, found: "tun0", cure: "local network"),
    Self(
      name: "a VPN while ben is here", spoil: { $0.addVPN() }, check: .vpn, verdict: .ok,
      found: "members are reached all the same"),
    Self(
      name: "a firewall", base: .fresh,
      spoil: { $0.air.links = [.init(name: "wlan0")] }, check: .multicast, verdict: .failed,
      found: "a firewall drops UDP port 41717", cure: "nft insert rule"),
    Self(
      name: "ufw", base: .fresh,
      spoil: {
        $0.air.links = [.init(name: "wlan0")]
        $0.air.firewall = .ufw
      }, check: .multicast, verdict: .failed, found: "41717", cure: "sudo ufw allow 41717/udp"),
    Self(
      name: "firewalld", base: .fresh,
      spoil: {
        $0.air.links = [.init(name: "wlan0")]
        $0.air.firewall = .firewalld
      }, check: .multicast, verdict: .failed, found: "41717", cure: "--add-port=41717/udp"),
    Self(
      name: "sending is refused", base: .fresh,
      spoil: { $0.air.links = [.init(name: "wlan0", sendError: 1)] }, check: .multicast,
      verdict: .failed, found: "Operation not permitted", cure: "41717"),
    Self(
      name: "one family of addresses is enough", base: .fresh,
      spoil: { $0.air.links = [.init(name: "wlan0", heardIPv6: true)] }, check: .multicast,
      verdict: .ok, found: "on wlan0"),
    Self(
      name: "a firewall on one of two links", base: .fresh,
      spoil: { $0.air.links.append(.init(name: "eth0")) }, check: .multicast, verdict: .warning,
      found: "heard on wlan0, and not on eth0", cure: "41717"),
    Self(
      name: "one of two members does not hear us",
      spoil: {
        $0.changeStatus { status in
          var carl = status.channels[0].members[0]
          (carl.id, carl.name, carl.hearsMe) = ("c0000000", "carl", false)
          status.channels[0].members.append(carl)
        }
      }, check: .unicast, verdict: .warning, found: "carl does not hear you",
      cure: "doctor --with c0000000"),
    Self(
      name: "nobody is heard", spoil: { $0.sendAway() }, check: .peers, verdict: .warning,
      found: "this Wi-Fi keeps its clients apart", cure: "nmcli device wifi hotspot"),
    Self(
      name: "nobody is heard, and no node runs", base: .withoutNode,
      spoil: { $0.air.callers = [] }, check: .peers, verdict: .warning, found: "1 member could",
      cure: "cable"),
    Self(
      name: "an inviter is awaited", base: .fresh,
      spoil: {
        $0.channels = [
          .init(name: "crew", members: 1, admins: ["b"], isAdmin: false, isJoining: true)
        ]
      }, check: .peers, verdict: .warning, found: "an inviter is awaited", cure: "hotspot"),
    Self(
      name: "HELLOs arrive and nothing else",
      spoil: {
        $0.sendAway()
        $0.changeStatus { $0.node.discovery.hellos = .init(heard: 9, heardMilliseconds: 2_000) }
      }, check: .unicast, verdict: .failed, found: "no answer reaches UDP port 41717",
      cure: "41717"),
    Self(
      name: "the last HELLO came before the member left",
      spoil: {
        $0.sendAway(silent: 4_000)
        $0.changeStatus { $0.node.discovery.hellos = .init(heard: 9, heardMilliseconds: 5_000) }
      }, check: .unicast, verdict: .skipped, found: "nobody is there", also: [.peers: .warning]),
    Self(
      name: "a member is heard and does not answer", base: .withoutNode,
      spoil: {
        $0.air.members = ["10.0.0.2:41717"]
        $0.air.callers = []
      }, check: .unicast, verdict: .failed, found: "10.0.0.2:41717 is heard", cure: "41717"),
    Self(
      name: "a member is announced and does not answer", base: .withoutNode,
      spoil: {
        $0.avahi.members = ["10.0.0.2:41717"]
        $0.air.callers = []
      }, check: .peers, verdict: .warning, found: "mDNS still shows 10.0.0.2:41717",
      cure: "hotspot"),
    Self(
      name: "a member that does not hear us", spoil: { $0.changeMember { $0.hearsMe = false } },
      check: .unicast, verdict: .failed, found: "ben is heard and does not hear you",
      cure: "there"),
  ]
}

extension DoctorFacts {
  fileprivate mutating func addVPN() {
    network.interfaces.append(Interface(name: "tun0", index: 3, kind: .tunnel))
    network.defaultInterface = "tun0"
  }
}
