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
      let (findings, text, code, seconds) = try run.end()
      let lines = findings.checks.map(DoctorFindings.line)
      let told = lines.filter { !$0.hasPrefix("ok") && !$0.hasPrefix("skipped") }
      print("doctor, \(trouble.name), \(Int(seconds * 1_000)) ms: \(told.joined(separator: " | "))")
      #expect(findings.ills == trouble.ills, "\(trouble.name): \(told)")
      let main = try #require(
        findings.checks.first { trouble.ills[$0.id] != nil }, "\(trouble.name) is not found")
      #expect(main.found.contains(trouble.found), "\(trouble.name): \(main.found)")
      #expect(main.cure?.contains(trouble.cure) == true, "\(trouble.name): \(main.cure ?? "")")
      #expect(code == (findings.failed > 0 ? 69 : 0), "\(trouble.name): exit code \(code)")
      for line in lines { #expect(text.contains("\n\(line)\n"), "not in the report: \(line)") }
      #expect(seconds < 15, "\(trouble.name): \(seconds) s")
    }
  }
}
