import Foundation
import Glibc
import Testing

/// Disks, ports, daemons, names and copies that are not as they should be: one line each, the right
/// exit code, nothing half-made, and the node alive.
extension OnTheLab {
  @Suite struct BadDayScenarios {
    /// A file system of its own for the state of `host`: its size is what there is.
    private static func mountState(_ lab: Lab, _ host: String, kilobytes: Int) throws -> String {
      let path = "\(lab.home(host))/talkaround"
      try lab.sh(
        host,
        "mkdir -p \(path) && mount -t tmpfs -o size=\(kilobytes)k,mode=700 tmpfs \(path)")
      return path
    }

    /// A command refused: code, and one line with these words.
    private static func expectRefused(
      _ output: ChildProcess.Output, _ code: Int32, _ words: String
    ) {
      #expect(output.code == code, "\(output.code): \(output.err)")
      #expect(output.err.contains(words), "\(output.err)")
      let lines = output.err.split(separator: "\n").filter { $0.hasPrefix("talkaround: ") }
      #expect(lines.count == 1, "\(output.err)")
    }

    @Test func onAFullDiskAChannelIsRefusedWholeAndTheNodeGoesOn() throws {
      try Lab.with(hosts: 2) { lab in
        let path = try Self.mountState(lab, "h1", kilobytes: 256)
        let (full, other) = (try Node(lab, "h1"), try Node(lab, "h2"))
        try other.run("channel", "create", "stage")
        let invite = try other.run("invite")
        try lab.sh("h1", "dd if=/dev/zero of=\(path)/fill bs=4k 2>/dev/null || true")
        Self.expectRefused(
          try full.attempt("channel", "create", "crew"), 78, "the disk is full; free some space")
        Self.expectRefused(try full.attempt("join", input: invite + "\n"), 78, "the disk is full")
        #expect(try full.status().channels.isEmpty)
        #expect(try lab.sh("h1", "ls -A \(path)/channels") == "")
        // The same line once, however often the disk refuses.
        #expect(full.log.filter { $0.contains("the disk is full") }.count == 2, "\(full.log)")
        try lab.sh("h1", "rm \(path)/fill")
        try full.run("channel", "create", "crew")
        try full.run("join", input: invite + "\n")
        #expect(try full.status().channels.map(\.name).sorted() == ["crew", "stage"])
      }
    }

    @Test func aStartOnAReadOnlyDiskSaysWhyAndChangesNothing() throws {
      try Lab.with(hosts: 1) { lab in
        let path = try Self.mountState(lab, "h1", kilobytes: 256)
        let node = try Node(lab, "h1")
        try node.run("channel", "create", "crew")
        node.process.signal(SIGTERM)
        try node.process.wait(seconds: 5)
        let state = "cd \(path) && sha256sum identity boot channels/*"
        let before = try lab.sh("h1", state)
        try lab.sh("h1", "mount -o remount,ro \(path)")
        Self.expectRefused(
          try node.attempt("run", "--headless"), 78,
          "the file system is read-only; mount it writable, or use another --state DIR")
        #expect(try lab.sh("h1", state) == before)
        try lab.sh("h1", "mount -o remount,rw \(path)")
        try node.restart()
        #expect(try node.status().channels.map(\.name) == ["crew"])
      }
    }

    // F1
    @Test func aStartOnAFullDiskSaysWhyAndChangesNothing() throws {
      try Lab.with(hosts: 1) { lab in
        let path = try Self.mountState(lab, "h1", kilobytes: 256)
        let node = try Node(lab, "h1")
        node.process.signal(SIGTERM)
        try node.process.wait(seconds: 5)
        let state = "cd \(path) && sha256sum identity boot"
        let before = try lab.sh("h1", state)
        try lab.sh("h1", "dd if=/dev/zero of=\(path)/fill bs=4k 2>/dev/null || true")
        Self.expectRefused(
          try node.attempt("run", "--headless"), 78, "the disk is full; free some space")
        #expect(try lab.sh("h1", state) == before)
      }
    }

    @Test func whatTheSystemDeniesIsNamedWith77AndLeftAsItWas() throws {
      try Lab.with(hosts: 1) { lab in
        // The whole way to the program must be open to another user.
        let (program, state) = ("/run/talkaround", "/run/nobody/state")
        try lab.sh(
          "h1",
          "cp \(try Requirements.talkaround()) \(program); chmod 755 /run \(program)\n"
            + "install -d -o 65534 -g 65534 -m 700 /run/nobody")
        let words = [
          "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env",
          "-u", "XDG_RUNTIME_DIR", "HOME=/run/nobody", program, "--state", state, "run",
          "--headless", "--no-avahi",
        ]
        let node = try lab.start("h1", words)
        try Lab.wait(seconds: 5, "not ready: \(node.complaints)") {
          node.complaints.contains("ready on UDP port")
        }
        node.signal(SIGTERM)
        #expect(try node.wait(seconds: 5).code == 0)
        let sum = "sha256sum \(state)/identity \(state)/boot"
        let before = try lab.sh("h1", sum)
        try lab.sh("h1", "chmod 000 \(state)/identity")
        Self.expectRefused(
          try lab.run("h1", words), 77, "\(state)/identity: permission denied; check its owner")
        #expect(try lab.sh("h1", sum) == before)
      }
    }

    // F5, A21
    @Test(arguments: ["", "SO_REUSEPORT", "SO_REUSEADDR"])
    func aTakenPortNamesItsOwnerAndTheNextOneServes(option: String) throws {
      try Lab.with(hosts: 1) { lab in
        let share = option.isEmpty ? "" : "s.setsockopt(SOL_SOCKET, \(option), 1);"
        let script =
          "from socket import *; import time; s = socket(AF_INET, SOCK_DGRAM); \(share)"
          + "s.bind(('', 41717)); print('bound', flush=True); time.sleep(60)"
        let owner = try lab.start("h1", ["python3", "-c", script])
        try Lab.wait(seconds: 5, "not bound") { owner.output.contains("bound") }
        let node = try Node(lab, "h1")
        #expect(try node.status().node.port == 41_718)
        let state = "\(lab.home("h1"))/second"
        let refused = try lab.run(
          "h1", [try Requirements.talkaround(), "--state", state, "run", "--port", "41717"])
        Self.expectRefused(refused, 69, "UDP port 41717 is taken by python3 (process ")
        owner.signal(SIGTERM)
      }
    }

    // A21
    @Test func twoNodesOnOneMachineAndOneElsewhereMeet() throws {
      try Lab.with(hosts: 2) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let program = try Requirements.talkaround()
        let state = "\(lab.home("h1"))/second"
        let second = try lab.start(
          "h1", [program, "--state", state, "run", "--headless", "--name", "twin"])
        try Lab.wait(seconds: 10, "the second node is not ready") {
          second.complaints.contains("ready on UDP port 41718")
        }
        let invite = try crew.nodes[0].run("invite", "--channel", "crew")
        let joined = try lab.run("h1", [program, "--state", state, "join"], input: invite + "\n")
        #expect(joined.succeeded, "\(joined.err)")
        for node in crew.nodes {
          try Lab.wait(seconds: 5, "\(node.host) does not hear the second node") {
            try node.present().contains("twin")
          }
        }
      }
    }

    // B2, E4
    @Test func aClonedIdentityIsToldOnBothSidesAndDoesNotFlap() throws {
      let seconds = Requirements.isLong ? 300.0 : 12
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let watch = try crew.nodes[1].watch()
        let home = { "\(lab.home($0))/talkaround" }
        try lab.sh("h1", "cp -a \(home("h1")) \(lab.home("h3"))/ && rm -f \(home("h3"))/*.sock")
        let clone = try Node(lab, "h3")
        let words = "our identity speaks from"
        for node in [crew.nodes[0], clone] {
          try Lab.wait(seconds: 10, "\(node.host) is not told of its copy") {
            node.log.contains { $0.contains(words) }
          }
        }
        let began = Lab.now()
        Lab.pass(seconds: seconds)
        let changes = watch.events.filter { $0.name == "member" && $0.time >= began - 2 }
        var states: [String] = []
        for change in changes where states.last != change.memberState {
          states.append(change.memberState ?? "")
        }
        print("a copy's peer sees \(states)")
        #expect(states.count <= 3, "\(states)")
        for node in [crew.nodes[0], clone] {
          #expect(node.log.filter { $0.contains(words) }.count <= 3, "\(node.log)")
          #expect(node.process.isRunning)
        }
        #expect(clone.log.contains { $0.contains("was made on another machine") })
      }
    }

    // A4, A3
    @Test func withoutDBusTheCrewMeetsByHelloAndUsesAvahiOnceItIsThere() throws {
      try Lab.with(hosts: 2, environment: ["LAB_DAEMONS": "audio"]) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        for node in crew.nodes {
          let lines = node.log.filter { $0.contains("D-Bus") || $0.contains("vahi") }
          #expect(lines.count == 1, "\(lines)")
          #expect(lines.first?.hasSuffix("there is no system D-Bus") == true, "\(lines)")
        }
        try lab.tool("svc", "h1", "dbus", "start")
        try Lab.wait(seconds: 6, "the missing daemon is not told") {
          crew.nodes[0].log.contains { $0.contains("avahi-daemon is not running") }
        }
        try lab.tool("svc", "h1", "avahi", "start")
        let began = Lab.now()
        try Lab.wait(seconds: 10, "Avahi is not used") {
          try lab.run("h1", ["avahi-browse", "-tpr", "_talkaround._udp"]).out.contains("41717")
        }
        print("Avahi at last: registered after \(Int((Lab.now() - began) * 1_000)) ms")
        #expect(try crew.nodes[0].present() == ["h2"])
      }
    }

    // A1, A20, B3, B4, G2, G3
    @Test func hostileAndEqualNamesAreCutEscapedAndKeptApart() throws {
      try Lab.with(hosts: 4) { lab in
        let names = [
          "h1": String(repeating: "é", count: 150),
          "h2": "[[[ \u{202e}SECURITY:\u{200b} \u{1b}[31mred\u{7}\nline",
          "h3": "anna", "h4": "  anna\u{feff} ",
        ]
        let crew = try Crew(
          lab, hosts: ["h1", "h2", "h3", "h4"], options: names.mapValues { ["--name", $0] })
        // Equal host names, too.
        for host in ["h3", "h4"] {
          try lab.sh(host, "hostname laptop; avahi-set-host-name laptop || true")
        }
        Lab.pass(seconds: 1)
        let shown = [
          "[[[ SECURITY: [31mredline", "anna", "anna", String(repeating: "é", count: 16),
        ]
        let all = try crew.nodes.map { try $0.status().node.name }
        #expect(all.sorted() == shown.sorted())
        for node in crew.nodes {
          let members = try #require(try node.status().channel).members
          #expect(members.count == 3)
          #expect(Set(members.map(\.id)).count == 3)
          let text = try node.run("members") + node.run("status") + node.process.complaints
          let hidden = text.unicodeScalars.filter {
            $0.value < 0x20 && $0 != "\n" || $0.properties.generalCategory == .format
          }
          #expect(hidden.isEmpty, "\(hidden)")
        }
        let nothing = try crew.nodes[0].attempt("run", "--name", "\u{a0}\u{2800}\u{200f}")
        Self.expectRefused(nothing, 64, "has nothing visible in it")
        let channel = try crew.nodes[0].attempt("channel", "create", "\u{200b}\u{2800}")
        Self.expectRefused(channel, 64, "nothing visible")
      }
    }

    // B4
    @Test func aMemberThatIsAwayKeepsItsNameOverRestartsAndOursIsNeverDerived() throws {
      try Lab.with(hosts: 2) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let (node, other) = (crew.nodes[0], crew.nodes[1])
        other.process.signal(SIGKILL)
        for _ in 1...(Requirements.isLong ? 20 : 3) {
          node.process.signal(SIGKILL)
          try node.process.wait(seconds: 5)
          try node.restart()
          let members = try #require(try node.status().channel).members
          #expect(members.map(\.name) == ["h2"])
          #expect(members.map(\.state) == ["away"])
          #expect(try node.status().node.name == "h1")
        }
      }
    }

    @Test func anEmptyOrCutSpeechFileIsRefusedAndAWholeOneHeard() throws {
      try Lab.with(hosts: 2) { lab in
        let node = try Crew(lab, hosts: ["h1", "h2"]).nodes[0]
        let home = lab.home("h1")
        let (empty, cut, whole) = ("\(home)/empty.wav", "\(home)/cut.wav", "\(home)/whole.wav")
        let script =
          "import sys, wave; w = wave.open(sys.argv[1], 'wb'); w.setnchannels(1)\n"
          + "w.setsampwidth(2); w.setframerate(48000); w.writeframes(bytes(48000)); w.close()"
        try lab.run("h1", ["python3", "-c", script, whole])
        try lab.sh("h1", "head -c 44 \(whole) > \(empty); head -c 9000 \(whole) > \(cut)")
        Self.expectRefused(try node.attempt("talk", "--file", cut), 64, "is cut short (9000 of ")
        Self.expectRefused(try node.attempt("talk", "--file", empty), 64, "is cut short (44 of ")
        try lab.sh("h1", ": > \(empty)")
        Self.expectRefused(try node.attempt("talk", "--file", empty), 64, "there is no sound in")
        #expect(try node.attempt("talk", "--file", whole).code == 0)
      }
    }

    // E4
    @Test func aPressThatNobodyAnswersYetSaysSoWithinSeconds() throws {
      try Lab.with(hosts: 2) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let key = try crew.nodes[0].hold()
        try crew.nodes[1].waitForFloor("taken")
        // The speaker is heard, and does not hear.
        try lab.tool("oneway", "h2", "h1")
        let began = Lab.now()
        let pressed = try crew.nodes[1].attempt("talk", "press")
        let took = Lab.now() - began
        print("answered after \(Int(took * 1_000)) ms: \(pressed.err)")
        #expect(took < 3)
        #expect(!pressed.err.contains("does not answer"), "\(pressed.err)")
        try crew.nodes[1].run("talk", "release")
        try lab.tool("heal")
        try key.release()
      }
    }

    @Test func aPressWithNobodyThereFailsEachTimeAndLeavesNoKeyDown() throws {
      try Lab.with(hosts: 1) { lab in
        let node = try Node(lab, "h1")
        try node.run("channel", "create", "crew")
        for _ in 1...2 {
          Self.expectRefused(try node.attempt("talk", "press"), 69, "no other member is here")
        }
      }
    }

    // A19
    @Test func whoIsHeardOneWayOnlyIsFoundByBothSides() throws {
      try Lab.with(hosts: 2) { lab in
        let nodes = try ["h1", "h2"].map { try Node(lab, $0, options: ["--no-avahi"]) }
        try nodes[0].run("channel", "create", "crew")
        let invite = try nodes[0].run("invite")
        // What h1 tells everybody is lost; its unicast is not.
        try lab.tool("impair", "h1", "out", "mcast", "udp=1", "loss=100")
        try nodes[1].run("join", input: invite + "\n")
        for (node, name) in zip(nodes, ["h2", "h1"]) {
          try Lab.wait(seconds: 10, "\(node.host) does not hear the other") {
            try node.present() == [name]
          }
        }
      }
    }

    // A9
    @Test func aHostWithoutPowerIsAwayInSecondsAlthoughAvahiListsIt() throws {
      try Lab.with(hosts: 2) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        func lists() throws -> Bool {
          try lab.run("h1", ["avahi-browse", "-tp", "_talkaround._udp"]).out
            .split(separator: "\n").count { $0.hasPrefix("+;eth0;IPv4;") } > 1
        }
        try Lab.wait(seconds: 10, "Avahi does not list h2", until: lists)
        let cut = Lab.now()
        try lab.tool("power", "h2", "off")
        try Lab.wait(seconds: 6, "h2 is still here") { try crew.nodes[0].present().isEmpty }
        print("without power: away after \(Int((Lab.now() - cut) * 1_000)) ms")
        #expect(Lab.now() - cut <= 5)
        #expect(try lists())
      }
    }

    // A15
    @Test func whenMulticastDiesTheCrewStaysAndANewcomerMeetsAllByOneStaticPeer() throws {
      try Lab.with(hosts: 4) { lab in
        let crew = try Crew(lab)
        for host in ["h1", "h2", "h3", "h4"] {
          try lab.tool("impair", host, "both", "mcast", "udp=1", "loss=100")
        }
        let newcomer = try Node(
          lab, "h4", options: ["--no-avahi", "--peer", "\(lab.address("h1")):41717"])
        let invite = try crew.nodes[0].run("invite")
        try newcomer.run("join", input: invite + "\n")
        let took = try Node.time("h4 does not meet all", within: 30) {
          try newcomer.present() == ["h1", "h2", "h3"]
        }
        print("without multicast: the newcomer met all after \(Int(took * 1_000)) ms")
        for node in crew.nodes { #expect(try node.present().count == 3) }
      }
    }

    // A18
    @Test func oneOpenUDPPortInTheFirewallIsEnough() throws {
      try Lab.with(hosts: 2) { lab in
        for host in ["h1", "h2"] {
          try lab.sh(
            host,
            """
            nft add table inet wall
            nft add chain inet wall input '{ type filter hook input priority 0; policy drop; }'
            nft add rule inet wall input iif lo accept
            nft add rule inet wall input udp dport 41717 accept
            """)
        }
        let crew = try Crew(
          lab, hosts: ["h1", "h2"], options: ["h1": ["--no-avahi"], "h2": ["--no-avahi"]])
        let key = try crew.nodes[0].hold()
        try crew.nodes[1].waitForFloor("taken")
        try key.release()
      }
    }
  }
}
