import Foundation
import Testing

/// The first minute, as a person meets it; and what a background node says of itself.
extension OnTheLab {
  @Suite struct FirstRunScenarios {
    @Test func twoPeopleWithATerminalEachAreTogetherWithinTwentySeconds() throws {
      try Lab.with(hosts: 2) { lab in
        let program = try Requirements.talkaround()
        let began = Lab.now()
        let anna = try LabTerminal(lab, "h1", [program])
        let ben = try LabTerminal(lab, "h2", [program])
        try anna.wait("No channel yet.  [c]reate one, or [j]oin by invite?  ")
        anna.type("c")
        try anna.wait("Channel name: ")
        anna.type("crew\r")
        try anna.wait("i: another invite")
        let invite = try #require(
          anna.shown.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("talk1") })
        try ben.wait("[j]oin")
        ben.type("j")
        try ben.wait("it does not show): ")
        ben.type("\(invite)\r")
        try ben.wait("Joined \"crew\".")
        for person in [anna, ben] {
          try person.wait("is here, hears you (")
          try person.wait("Hold SPACE to talk")
        }
        let took = Lab.now() - began
        print("from the first command to 'hears you' on both: \(took) s")
        #expect(took < 20)
        #expect(!ben.shown.contains(invite))
        anna.type(" ")
        try anna.wait("speak now")
        try ben.wait("speaks")
        anna.type(" ")
        try anna.wait("heard by 1 of 1")
        for (person, host) in [(anna, "h1"), (ben, "h2")] {
          person.type("q")
          #expect(try person.end() == 0)
          #expect(person.shown.contains("The node goes on listening"))
          #expect(try lab.run(host, [program, "status"]).out.contains("* crew  ready"))
        }
        for host in ["h1", "h2"] { #expect(try lab.run(host, [program, "stop"]).succeeded) }
      }
    }

    /// systemd(1) as a user's manager, in namespaces of its own that say it was booted. (A host of
    /// the lab has no control groups, which it needs.)
    private static let userManager = """
      set -eu
      ip link set lo up
      mount -t tmpfs tmpfs /run
      mkdir -p /run/systemd/system /run/user/0 && chmod 700 /run/user/0
      export XDG_RUNTIME_DIR=/run/user/0 USER=root
      /lib/systemd/systemd --user >/dev/null 2>&1 &
      manager=$!
      for _ in $(seq 100); do
        systemctl --user show-environment >/dev/null 2>&1 && break || sleep 0.05
      done
      active() { systemctl --user is-active talkaround || true; }
      $1 start --at-login --name anna --profile phone-gateway
      active
      $1 start
      $1 stop
      for _ in $(seq 100); do [ "$(active)" = inactive ] && break || sleep 0.05; done
      active
      $1 start
      active
      $1 stop --at-login
      active
      systemctl --user is-enabled talkaround 2>/dev/null || true
      kill $manager
      """

    @Test(
      .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/lib/systemd/systemd"),
        "needs the package systemd"))
    func theUserManagerStartsTheNodeAtLoginAndNoMore() throws {
      let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: home) }
      let words = ["-m", "-n", "bash", "-c", Self.userManager, "bash"]
      let output = try ChildProcess(
        ["/usr/bin/unshare"] + words + [Requirements.talkaround()],
        environment: ["HOME": home.path]
      ).wait(seconds: 60)
      let said = output.out.split(separator: "\n").map {
        $0.split(separator: " ").prefix(2).joined(separator: " ")
      }
      #expect(
        said == [
          "starts at", "started: anna", "active", "running already:", "inactive",
          "started: anna", "active", "does not", "inactive",
        ], "\(output.out) \(output.err)")
      #expect(output.code == 0)
    }

    @Test func aNodeThatIsLeftAloneWithTenOthersLogsNextToNothing() throws {
      try Lab.with(hosts: 2) { lab in
        let program = try Requirements.talkaround()
        func run(_ host: String, _ name: String, _ words: String..., input: String? = nil) throws
          -> String
        {
          let state = "\(lab.home(host))/\(name)"
          let output = try lab.run(host, [program, "--state", state] + words, input: input)
          guard output.succeeded else { throw LabError("\(name): \(words): \(output.err)") }
          return output.line
        }
        _ = try run("h1", "anna", "start", "--name", "anna")
        _ = try run("h1", "anna", "channel", "create", "crew")
        let invite = try run("h1", "anna", "invite", "--max", "10")
        let others = (1...10).map { "peer\($0)" }
        for name in others {
          _ = try run(
            "h2", name, "start", "--name", name, "--profile", "phone-gateway", "--port",
            "\(42_000 + (others.firstIndex(of: name) ?? 0))")
          _ = try run("h2", name, "join", input: invite)
        }
        let log = "\(lab.home("h1"))/anna/log"
        func lines() throws -> Int {
          try String(contentsOfFile: log, encoding: .utf8).count { $0 == "\n" }
        }
        let before = try lines()
        Lab.pass(seconds: Requirements.isLong ? 300 : 20)
        #expect(try run("h1", "anna", "members").components(separatedBy: "present").count == 11)
        let after = try lines()
        print("log lines at the start: \(before), while idle: \(after - before)")
        #expect(after - before <= 10)
        // Ready, sound, Avahi, and a line for each newcomer.
        #expect(before <= 16)
        for name in others { _ = try run("h2", name, "stop") }
        _ = try run("h1", "anna", "stop")
      }
    }
  }
}
