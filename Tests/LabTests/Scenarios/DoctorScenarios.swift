import Foundation
import Testing

/// Hosts that are broken in one way each, and hosts that are not: the doctor tells which is which.
extension OnTheLab {
  @Suite struct DoctorScenarios {
    /// One thing that is broken, on a host of its own.
    struct Trouble: Sendable {
      let name: String
      /// Shell commands on the host; `$S` is the state directory.
      var commands: String?
      /// `svc HOST …`, or `cable HOST …`, of Tools/lab.
      var tool: [String] = []
      /// A program that goes on while the doctor looks.
      var holding: [String] = []
      /// Words before the doctor, such as env and its own.
      var around: [String] = []
      /// False where nobody speaks into the microphone.
      var isSpeaking = true
      /// The checks that must not be well, and how they come out; nothing else may be.
      let ills: [String: String]
      /// What is found, in part.
      let found: String
      /// What is to be done, in part.
      let cure: String
    }

    @Test func eachOfManyBrokenHostsIsFoundWithItsCureAndNothingElseIsAlarmed() throws {
      let troubles = Trouble.all
      #expect(troubles.count >= 14)
      try Lab.with(hosts: troubles.count) { lab in
        let speech = try Speech.file(seconds: 20, seed: 3)
        for batch in stride(from: 0, to: troubles.count, by: 6) {
          let hosts = batch..<min(batch + 6, troubles.count)
          var held: [ChildProcess] = []
          let runs = try hosts.map { index in
            let host = "h\(index + 1)"
            held += try makeTrouble(troubles[index], lab, host, speech)
            return try DoctorRun(lab, host, around: troubles[index].around)
          }
          for (index, run) in zip(hosts, runs) { try judge(run, troubles[index]) }
          for child in held { child.signal(SIGKILL) }
        }
      }
    }

    private func makeTrouble(
      _ trouble: Trouble, _ lab: Lab, _ host: String, _ speech: String
    ) throws -> [ChildProcess] {
      if trouble.isSpeaking { try lab.speak(host, speech) }
      if let commands = trouble.commands {
        let talkaround = try Requirements.talkaround()
        let script = "set -e; S=\(lab.home(host))/talkaround; T=\(talkaround); \(commands)"
        let output = try lab.run(host, ["sh", "-c", script])
        guard output.succeeded else { throw LabError("\(trouble.name): \(output.err)") }
      }
      if let verb = trouble.tool.first {
        try Lab.command(
          [verb, host] + trouble.tool.dropFirst(), environment: lab.environment, seconds: 20)
      }
      guard !trouble.holding.isEmpty else { return [] }
      let child = try lab.start(host, trouble.holding)
      try Lab.wait(seconds: 5, "\(trouble.name): \(child.complaints)") {
        child.output.contains("ready")
      }
      return [child]
    }

    private func judge(_ run: DoctorRun, _ trouble: Trouble) throws {
      let (findings, code, seconds) = try run.end()
      let lines = findings.checks.map(DoctorFindings.line)
      let told = lines.filter { !$0.hasPrefix("ok") && !$0.hasPrefix("skipped") }
      print("doctor, \(trouble.name), \(Int(seconds * 1_000)) ms: \(told.joined(separator: " | "))")
      #expect(findings.ills == trouble.ills, "\(trouble.name): \(told)")
      let main = try #require(
        findings.checks.first { trouble.ills[$0.id] != nil }, "\(trouble.name) is not found")
      #expect(main.found.contains(trouble.found), "\(trouble.name): \(main.found)")
      #expect(main.cure?.contains(trouble.cure) == true, "\(trouble.name): \(main.cure ?? "")")
      #expect(code == (findings.failed > 0 ? 69 : 0), "\(trouble.name): exit code \(code)")
      #expect(seconds < 15, "\(trouble.name): \(seconds) s")
    }

    @Test func healthyHostsRaiseNoAlarmWhateverRunsOnThemAndACrewsTroublesAreFound() throws {
      try Lab.with(hosts: 5) { lab in
        let speech = try Speech.file(seconds: 90, seed: 4)
        for host in 1...5 { try lab.speak("h\(host)", speech) }
        let crew = try Crew(lab)
        let alone = try Node(lab, "h5")
        try alone.run("channel", "create", "solo")
        try expect(
          DoctorRun(lab, "h1"), ["admins": "warning"], "admins",
          "you are the only admin of crew: if that laptop is lost, nobody can make admins → "
            + "talkaround members set PEER --admin")
        try crew.nodes[0].run("members", "set", "h2", "--admin")
        try Lab.wait(seconds: 10, "h3 does not know of the second admin") {
          let words = try crew.nodes[2].run("members", "--json").split(separator: ",")
          return words.count { $0.contains("\"role\":\"admin\"") } == 2
        }
        let members = try ["h1", "h2", "h3"].map { try DoctorRun(lab, $0) }
        let others = try ["h4", "h5"].map { try DoctorRun(lab, $0) }
        for run in members { try expect(run, [:], "peers", "2 members in touch") }
        try expect(others[0], [:], "node", "none runs")
        try expect(others[1], [:], "peers", "no other member yet")
        try expectPeersLookedAt(lab, crew)
        try expectMending(lab, "h4")
        try expectCrewsTroubles(lab, crew)
      }
    }

    /// What one run finds: these ills and no other, and a line in part.
    @discardableResult private func expect(
      _ run: DoctorRun, _ ills: [String: String], _ check: String, _ found: String
    ) throws -> DoctorFindings {
      let (findings, code, seconds) = try run.end()
      let told = findings.checks.filter { findings.ills[$0.id] != nil }.map(DoctorFindings.line)
      print("doctor, \(check), \(Int(seconds * 1_000)) ms: \(told.joined(separator: " | "))")
      #expect(findings.ills == ills, "\(told)")
      let text = findings[check].map { "\($0.found) → \($0.cure ?? "")" } ?? "nothing"
      #expect(text.contains(found), "\(check): \(text)")
      #expect(code == (findings.failed > 0 ? 69 : 0))
      return findings
    }

    private func expectPeersLookedAt(_ lab: Lab, _ crew: Crew) throws {
      try expect(
        DoctorRun(lab, "h1", ["--with", "h2"]), [:], "peer",
        "h2 hears you and you hear it at 10.77.0.2:41717, round trip ")
      try crew.nodes[2].run("stop")
      let stopped = try expect(DoctorRun(lab, "h3"), [:], "peers", "2 members in reach")
      #expect(stopped["unicast"]?.found.contains("answered") == true)
      try expect(
        DoctorRun(lab, "h1", ["--with", "h3"]), ["peer": "failed"], "peer",
        "h3 is not heard → start talkaround there")
    }

    private func expectMending(_ lab: Lab, _ host: String) throws {
      let commands =
        "mkdir -m 755 \(lab.home(host))/talkaround; pactl set-source-mute mic 1; "
        + "pactl set-sink-volume speaker 0; pactl set-default-source speaker.monitor"
      let output = try lab.run(host, ["sh", "-c", commands])
      #expect(output.succeeded, "\(output.err)")
      let mended = try expect(DoctorRun(lab, host, ["--fix"]), [:], "state", "whole")
      let fixes = ["loudspeaker-volume", "microphone", "microphone-volume", "state"]
      #expect(mended.fixes.map(\.id).sorted() == fixes)
      #expect(mended.fixes.filter { !$0.worked }.isEmpty)
    }

    private func expectCrewsTroubles(_ lab: Lab, _ crew: Crew) throws {
      let talkaround = try Requirements.talkaround()
      let namesake = try lab.start(
        "h3", [talkaround, "--state", "\(lab.home("h3"))/talkaround", "run", "--name", "h2"])
      try crew.waitUntilAllHearEachOther()
      try expect(
        DoctorRun(lab, "h1"), ["names": "warning"], "names",
        "two members are called h2 → one of them: talkaround run --name NICK")
      // What h1 sends does not reach h2.
      try lab.tool("oneway", "h1", "h2")
      try Lab.wait(seconds: 10, "h2 still hears h1") {
        let members = try crew.nodes[0].status().channel?.members ?? []
        return members.contains { $0.iHear && !$0.hearsMe }
      }
      let id = try crew.nodes[1].status().node.id
      try expect(
        DoctorRun(lab, "h1", ["--with", id]),
        ["names": "warning", "unicast": "warning", "peer": "failed"], "peer",
        "h2 does not hear you at 10.77.0.2:41717 → open UDP port 41717 on h2's laptop")
      // As the Wi-Fi of guests does.
      try lab.tool("split", "h1", "h2 h3 h4 h5")
      try Lab.wait(seconds: 10, "h1 still hears somebody") {
        try crew.nodes[0].status().channel?.members.allSatisfy { $0.state == "away" } == true
      }
      let apart = try expect(
        DoctorRun(lab, "h1"),
        ["names": "warning", "peers": "warning"], "peers",
        "keeps its clients apart, as guest Wi-Fi does, or they are off or elsewhere → use a cable")
      #expect(apart["multicast"]?.verdict == "ok")
      namesake.signal(SIGTERM)
    }
  }
}
