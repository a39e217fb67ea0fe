import Foundation
import Glibc
import Testing

/// A node that nobody speaks to costs next to nothing.
extension OnTheLab {
  @Suite struct IdleScenarios {
    /// Processor time that a process has used, in seconds (proc(5), utime and stime).
    private static func processorTime(_ pid: pid_t) throws -> Double {
      let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
      let words = text[text.index(after: text.lastIndex(of: ")") ?? text.startIndex)...]
        .split(separator: " ")
      guard words.count > 12, let user = Double(words[11]), let system = Double(words[12]) else {
        throw LabError("no times of process \(pid)")
      }
      return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    // A22
    @Test func tenIdleNodesUseAHundredthOfACoreEachAndNoMicrophone() throws {
      let seconds = Requirements.isLong ? 300.0 : 30
      try Lab.with(hosts: 10) { lab in
        let crew = try Crew(lab, hosts: (1...10).map { "h\($0)" })
        Lab.pass(seconds: 5)
        let lines = crew.nodes.map(\.log.count)
        let before = try crew.nodes.map { try Self.processorTime($0.process.target) }
        let sniffer = try lab.sniff("h1")
        let began = Lab.now()
        Lab.pass(seconds: seconds)
        let span = Lab.now() - began
        let after = try crew.nodes.map { try Self.processorTime($0.process.target) }
        let datagrams = try sniffer.stop().filter { !$0.isMDNS }

        let loads = zip(before, after).map { ($1 - $0) / span * 100 }
        let memory = try crew.nodes.map { try $0.memory() }
        print("idle: \(loads.map { String(format: "%.2f", $0) }) % of a core, \(memory) KiB")
        print("on the link of h1: \(Int(Double(datagrams.count) / span)) datagrams/s")
        #expect(loads.allSatisfy { $0 <= 1 }, "\(loads)")
        #expect(memory.allSatisfy { $0 <= 40 * 1_024 }, "\(memory)")
        for (node, line) in zip(crew.nodes, lines) {
          #expect(node.log.count - line <= 10, "\(node.log.suffix(12))")
          #expect(line <= 20, "\(node.log)")
          let open = try lab.sh(
            node.host, "pactl list source-outputs | grep -c 'Corked: no' || true")
          #expect(open == "0", "\(node.host) has an open microphone")
        }
        try Self.expectQuickStatus(crew.nodes[0])
      }
    }

    /// The command itself, from start to end: the best of three medians, since whatever else
    /// runs on this machine takes its share.
    private static func expectQuickStatus(_ node: Node) throws {
      let script = """
        import subprocess, sys, time
        took = []
        for _ in range(21):
            began = time.monotonic()
            subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
            took.append(time.monotonic() - began)
        print(sorted(took)[10] * 1000)
        """
      var medians: [Double] = []
      while medians.count < 3, medians.last.map({ $0 > 20 }) ?? true {
        let output = try node.lab.run(
          node.host, ["python3", "-c", script] + node.words(["status"]))
        medians.append(try #require(Double(output.line), "\(output.err)"))
      }
      print("status: \(medians.map { String(format: "%.1f", $0) }) ms")
      #expect(try #require(medians.min()) <= 20)
    }
  }
}
