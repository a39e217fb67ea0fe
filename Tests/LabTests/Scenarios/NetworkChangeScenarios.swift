import Foundation
import Glibc
import Testing

/// Cables, addresses and interfaces that come, go and change; machines that sleep.
extension OnTheLab {
  @Suite struct NetworkChangeScenarios {
    private static func backTogether(_ crew: Crew, within seconds: Double) throws -> Double {
      let began = Lab.now()
      try crew.waitUntilAllHearEachOther(seconds: seconds)
      return Lab.now() - began
    }

    // E3
    @Test func anUnpluggedCableWhileWeSpeakIsToldAtOnceAndMendsInSeconds() throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let speaker = crew.nodes[0]
        let watch = try speaker.watch()
        var delays: [Double] = []
        for _ in 1...3 {
          let key = try speaker.hold()
          try speaker.waitForFloor("ours")
          Lab.pass(seconds: 0.5)
          let unplugged = Lab.now()
          try lab.tool("cable", "h1", "down")
          let tone = try watch.first(since: unplugged, within: 5, "unheard tone") {
            $0.tone == "unheard"
          }
          delays.append(tone.time - unplugged)
          #expect(try speaker.attempt("talk", "press").code == 75)
          _ = try? key.release()
          #expect(try speaker.attempt("talk", "press").code == 69)
          try lab.tool("cable", "h1", "up")
          let took = try Self.backTogether(crew, within: 8)
          print("cable back: all hear each other after \(Int(took * 1_000)) ms")
          #expect(took <= 3.5)
        }
        print("unplugged to unheard: \(delays.map { Int($0 * 1_000) }) ms")
        #expect(try #require(delays.min()) <= 0.8)
      }
    }

    // E2
    @Test func aNewAddressWhileWeSpeakCostsAMomentNotTheFloor() throws {
      try Lab.with(hosts: 2) { lab in
        _ = try lab.plugInTone("h1")
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        Lab.pass(seconds: 0.5)
        let changed = Lab.now()
        try lab.tool("address", "h1", "77")
        let recording = try lab.record("h2")
        Lab.pass(seconds: 3)
        let heard = try recording.stop()
        let onset = try #require(heard.onset(after: changed), "never heard again")
        print("new address: heard again after \(Int((onset - changed) * 1_000)) ms")
        #expect(onset - changed <= 1)
        let later = try #require(heard.onset(after: changed + 2), "not heard for long")
        #expect(later - changed <= 2.2)
        #expect(try crew.nodes[0].floor().state == "ours")
        try key.release()
        try crew.waitUntilAllHearEachOther(seconds: 3.5)
      }
    }

    @Test func aNodeThatStartsWithoutANetworkJoinsInOnceThereIsOne() throws {
      try Lab.with(hosts: 2) { lab in
        let first = try Crew(lab, hosts: ["h1", "h2"])
        try lab.tool("cable", "h2", "down")
        first.nodes[1].process.signal(SIGTERM)
        try first.nodes[1].process.wait(seconds: 5)
        try first.nodes[1].restart()
        Lab.pass(seconds: 1)
        #expect(try first.nodes[1].present().isEmpty)
        try lab.tool("cable", "h2", "up")
        let took = try Self.backTogether(first, within: 10)
        print("a network at last: together after \(Int(took * 1_000)) ms")
        #expect(took <= 4)
        #expect(first.nodes[1].log.count <= 10, "\(first.nodes[1].log)")
      }
    }

    // A11, A12, A13, A17, A21
    @Test func aVPNContainersTwentyAddressesAndNoIPv6KeepNobodyApart() throws {
      try Lab.with(hosts: 4) { lab in
        try Self.addVPN(lab, "h1")
        try lab.sh(
          "h2",
          """
          ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0
          ip link set docker0 up
          for n in $(seq 20); do
            ip link add v$n type veth peer name w$n; ip link set w$n master docker0
            ip link set v$n up; ip link set w$n up
          done
          for n in $(seq 20); do ip addr add 10.88.$n.1/24 dev docker0; done
          """)
        try lab.sh("h3", "sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        // A second interface into a network of its own.
        try lab.sh(
          "h4",
          """
          ip link add e1 type veth peer name other; ip addr add 10.99.0.4/24 dev e1
          ip link set e1 up; ip link set other up
          """)
        let began = Lab.now()
        let crew = try Crew(lab, hosts: ["h1", "h2", "h3", "h4"])
        print("four odd hosts are a crew after \(Int((Lab.now() - began) * 1_000)) ms")
        #expect(Lab.now() - began <= 8)
        let key = try crew.nodes[1].hold()
        for index in [0, 2, 3] { try crew.nodes[index].waitForFloor("taken") }
        try key.release()
        try crew.waitUntilIdle()
        let lines = crew.nodes[2].log.filter { $0.contains("v6") }
        #expect(lines.count <= 2, "\(lines)")
        for node in crew.nodes { #expect(node.log.count <= 12, "\(node.log)") }
      }
    }

    /// A tunnel that holds the default route and leads nowhere; somebody must hold it open, or it
    /// has no carrier.
    private static func addVPN(_ lab: Lab, _ host: String) throws {
      let script = """
        import fcntl, struct, time
        tun = open("/dev/net/tun", "r+b", buffering=0)
        fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH", b"tun0", 0x1001))
        time.sleep(600)
        """
      _ = try lab.start(host, ["python3", "-c", script])
      try Lab.wait(seconds: 5, "no tunnel") {
        try lab.run(host, ["ip", "link", "show", "tun0"]).succeeded
      }
      try lab.sh(
        host,
        """
        ip addr add 10.8.0.2/24 dev tun0; ip link set tun0 up
        ip route replace default dev tun0
        """)
    }

    // E3: twelve seconds, beyond which the node takes it for a sleep of the machine.
    @Test func aNodeAndAWholeHostThatSleepTwelveSecondsAreBackInThree() throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let (node, host) = (crew.nodes[1], crew.nodes[2])
        let daemons = ["dbus", "avahi", "audio"]
        node.process.signal(SIGSTOP)
        host.process.signal(SIGSTOP)
        for daemon in daemons { try lab.tool("svc", "h3", daemon, "stop") }
        try Lab.wait(seconds: 6, "h1 does not see them go") { try crew.nodes[0].present().isEmpty }
        Lab.pass(seconds: 8)
        let woken = Lab.now()
        for daemon in daemons { try lab.tool("svc", "h3", daemon, "cont") }
        host.process.signal(SIGCONT)
        node.process.signal(SIGCONT)
        try crew.waitUntilAllHearEachOther(seconds: 10)
        let took = Lab.now() - woken
        print("awake: all hear each other after \(Int(took * 1_000)) ms")
        #expect(took <= 3.5)
        let key = try node.hold()
        for other in [crew.nodes[0], host] { try other.waitForFloor("taken") }
        try key.release()
      }
    }
  }
}
