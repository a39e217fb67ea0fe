import Foundation
import Glibc
import Testing

/// The lab is what it says: else nothing that is shown on it means anything.
extension OnTheLab {
  @Suite struct LabToolTests {
    @Test func hostsComeUpSeeEachOtherAndLeaveNothingBehind() throws {
      var prefix = ""
      try Lab.with(hosts: 3) { lab in
        prefix = lab.prefix
        for host in ["h1", "h2", "h3"] {
          #expect(try lab.run(host, ["/bin/hostname"]).line == host)
        }
        let publisher = try lab.start(
          "h1", ["avahi-publish", "-s", "hello", "_talkaround._udp", "5000"])
        try Lab.wait(seconds: 10, "h3 does not find h1 by Avahi") {
          try lab.run("h3", ["avahi-browse", "-tpr", "_talkaround._udp"]).out
            .contains("h1.local;\(lab.address("h1"));5000")
        }
        publisher.signal(SIGTERM)
      }
      let namespaces = try String(
        decoding: FileManager.default.contentsOfDirectory(atPath: "/run/netns")
          .joined(separator: " ").utf8, as: UTF8.self)
      #expect(!namespaces.contains(prefix))
      #expect(!FileManager.default.fileExists(atPath: "/tmp/talkaround-lab/\(prefix)"))
      #expect(processes(mentioning: prefix) == [])
    }

    @Test func theMicrophoneIsHeardAtTheSpeakerAndTheRulerMeasuresTheDelay() throws {
      try Lab.with(hosts: 1, environment: ["LAB_DAEMONS": "dbus audio"]) { lab in
        let file = try Speech.file(seconds: 10, seed: 1)
        let format = "--format=s16le --rate=48000 --channels=1 --latency-msec=10"
        let loop = try lab.start("h1", ["sh", "-c", "parec -d mic \(format) | pacat \(format)"])
        defer { _ = try? lab.run("h1", ["pkill", "pacat"]) }
        Lab.pass(seconds: 0.5)
        let recording = try lab.record("h1")
        Lab.pass(seconds: 1)
        let start = try lab.speak("h1", file)
        Lab.pass(seconds: 11)
        let similarity = Similarity(
          spoken: try Clip.wav(file, start: start), heard: try recording.stop())
        print("parec | pacat: \(similarity)")
        #expect(loop.isRunning)
        #expect(similarity.median > 0.99 && similarity.headMissing == 0, "\(similarity)")
        #expect((0.005...0.2).contains(similarity.delay), "\(similarity)")
      }
    }

    @Test func delayAndLossAreAsAsked() throws {
      try Lab.with(hosts: 2, environment: ["LAB_DAEMONS": ""]) { lab in
        let clean = try sendAndMeasure(lab)
        #expect(clean.lost == 0 && clean.delay < 0.002, "\(clean)")
        try lab.tool("impair", "h2", "in", "from=h1", "delay=20", "loss=25", "seed=3")
        let impaired = try sendAndMeasure(lab)
        #expect((0.019...0.023).contains(impaired.delay), "\(impaired)")
        #expect((0.15...0.35).contains(impaired.lost), "\(impaired)")
        try lab.tool("impair", "h2", "off")
        let again = try sendAndMeasure(lab)
        #expect(again.lost == 0 && again.delay < 0.002, "\(again)")
      }
    }

    @Test func cutsAreSilentOneWayOrBothAndHeal() throws {
      try Lab.with(hosts: 2, environment: ["LAB_DAEMONS": ""]) { lab in
        try lab.tool("oneway", "h1", "h2")
        #expect(try sendAndMeasure(lab).lost == 1)
        try lab.tool("heal", "h1", "h2")
        #expect(try sendAndMeasure(lab).lost == 0)
        try lab.tool("split", "h1", "h2")
        #expect(try sendAndMeasure(lab).lost == 1)
        try lab.tool("heal")
        #expect(try sendAndMeasure(lab).lost == 0)
      }
    }

    @Test(arguments: ["avahi", "audio"])
    func daemonsAreKilledStoppedAndComeBack(daemon: String) throws {
      let process = daemon == "avahi" ? "avahi-daemon" : "pulseaudio"
      try Lab.with(hosts: 1) { lab in
        func state() throws -> String {
          try lab.run("h1", ["ps", "-C", process, "-o", "stat="]).line
        }
        #expect(try state().hasPrefix("S"))
        try lab.tool("svc", "h1", daemon, "stop")
        #expect(try state().hasPrefix("T"))
        try lab.tool("svc", "h1", daemon, "cont")
        #expect(try !state().hasPrefix("T"))
        try lab.tool("svc", "h1", daemon, "kill")
        #expect(try state() == "")
        try lab.tool("svc", "h1", daemon, "start")
        try lab.tool("svc", "h1", daemon, "restart")
        #expect(try state() != "")
      }
    }

    @Test func aPowerCutEndsAHostAndItComesBackWithAnotherAddress() throws {
      try Lab.with(hosts: 2, environment: ["LAB_DAEMONS": ""]) { lab in
        try lab.tool("power", "h1", "off")
        #expect(throws: LabError.self) { try lab.tool("exec", "h1", "true") }
        try lab.tool("start", "h1")
        #expect(try sendAndMeasure(lab).lost == 0)
        try lab.tool("address", "h1", "99")
        #expect(try lab.run("h1", ["ip", "addr"]).out.contains("10.77.0.99/24"))
        try lab.tool("cable", "h1", "down")
        #expect(try lab.run("h1", ["ip", "link"]).out.contains("NO-CARRIER"))
      }
    }

    /// 200 datagrams from h1 to h2: the share that was lost, and the middle delay.
    private func sendAndMeasure(_ lab: Lab) throws -> (lost: Double, delay: Double) {
      let (sender, receiver) = (try lab.sniff("h1"), try lab.sniff("h2"))
      Lab.pass(seconds: 0.1)
      try lab.tool("flood", "h1", lab.address("h2"), "4000", "200", "7", "1000")
      let sent = try sender.stop().filter { $0.isOutgoing && $0.destinationPort == 4_000 }
      let received = try receiver.stop().filter { !$0.isOutgoing && $0.destinationPort == 4_000 }
      let times = Dictionary(received.map { ($0.payload, $0.time) }) { first, _ in first }
      let delays = sent.compactMap { datagram in
        times[datagram.payload].map { $0 - datagram.time }
      }.sorted()
      guard !sent.isEmpty else { return (1, 0) }
      let lost = 1 - Double(delays.count) / Double(sent.count)
      return (lost, delays.isEmpty ? 0 : delays[delays.count / 2])
    }

    private func processes(mentioning prefix: String) -> [String] {
      let pids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      return pids.filter { Int($0) != nil && $0 != "\(getpid())" }.compactMap { pid in
        let words = try? Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline"))
        let text = String(decoding: words ?? Data(), as: UTF8.self)
        return text.contains("/\(prefix)/") ? text : nil
      }
    }
  }
}
