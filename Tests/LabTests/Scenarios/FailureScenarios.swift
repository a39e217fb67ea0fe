import Glibc
import Testing

/// Things die while somebody speaks.
extension OnTheLab {
  @Suite struct FailureScenarios {
    @Test func theFloorIsFreeSoonAfterTheSpeakingNodeIsKilled() throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let speaker = crew.nodes[0]
        let others = crew.nodes.dropFirst()
        let watches = try others.map { try $0.watch() }
        for round in 1...3 {
          let key = try speaker.hold()
          for other in others { try other.waitForFloor("taken") }
          try lab.speak("h1", Speech.file(seconds: 10, seed: round))
          Lab.pass(seconds: 1)
          let killed = Lab.now()
          speaker.process.signal(SIGKILL)
          for watch in watches {
            let free = try watch.first(since: killed, within: 3, "floor idle") {
              $0.floorState == "idle"
            }
            let delay = free.time - killed
            print("killed to free: \(Int(delay * 1_000)) ms")
            #expect(delay <= 0.3)
          }
          _ = try? key.release()
          try speaker.restart()
          try crew.waitUntilAllHearEachOther()
        }
      }
    }

    /// What happens to avahi-daemon, and what ends it.
    struct Trouble: Sendable, CustomTestStringConvertible {
      let begin: String
      let end: String?
      var testDescription: String { begin }
      static let all = [
        Trouble(begin: "kill", end: "start"),
        Trouble(begin: "restart", end: nil),
        Trouble(begin: "stop", end: "cont"),
      ]
    }

    @Test(arguments: Trouble.all)
    func noVoiceIsLostWhileAvahiIsInTrouble(trouble: Trouble) throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let recording = try lab.record("h3")
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        Lab.pass(seconds: 1)
        let file = try Speech.file(seconds: 10, seed: 4)
        let spoken = try Clip.wav(file, start: lab.speak("h1", file))
        Lab.pass(seconds: 2)
        for host in ["h1", "h2"] { try lab.tool("svc", host, "avahi", trouble.begin) }
        if let end = trouble.end {
          Lab.pass(seconds: 4)
          for host in ["h1", "h2"] { try lab.tool("svc", host, "avahi", end) }
        }
        let back = Lab.now()
        for host in ["h1", "h2"] { try waitUntilRegistered(lab, host) }
        print("Avahi \(trouble.begin): registered \(Int((Lab.now() - back) * 1_000)) ms after")
        Lab.pass(seconds: max(0, spoken.start + spoken.duration + 0.3 - Lab.now()))
        try key.release()
        let similarity = Similarity(spoken: spoken, heard: try recording.stop())
        print("Avahi \(trouble.begin): \(similarity)")
        #expect(similarity.median >= 0.9 && similarity.badWindows == 0, "\(similarity)")
        #expect(similarity.longestHole == 0, "\(similarity)")
      }
    }

    /// The host's own daemon must know it: others may still remember what a killed one published.
    private func waitUntilRegistered(_ lab: Lab, _ host: String) throws {
      for asked in [host, "h3"] {
        try Lab.wait(seconds: 10, "\(asked) does not find \(host) by Avahi again") {
          try lab.run(asked, ["avahi-browse", "-tpr", "_talkaround._udp"]).out
            .contains("\(host).local")
        }
      }
    }

    @Test func aListenerWhoseSoundServerDiesHearsAgainSoonAfterItIsBack() throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let listener = crew.nodes[1]
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        let file = try Speech.file(seconds: 20, seed: 5)
        let spoken = try Clip.wav(file, start: lab.speak("h1", file))
        let watch = try listener.watch()
        Lab.pass(seconds: 2)
        let killed = Lab.now()
        try lab.tool("svc", "h2", "audio", "kill")
        _ = try watch.first(since: killed, within: 3, "device gone") { $0.deviceState == "lost" }
        Lab.pass(seconds: 2)
        #expect(listener.process.isRunning)
        try lab.tool("svc", "h2", "audio", "start")
        let back = Lab.now()
        let recording = try lab.record("h2")
        Lab.pass(seconds: 5)
        let heard = try recording.stop()
        try key.release()
        try expectVoice(heard, of: spoken, within: 1, of: back)
      }
    }

    @Test func aSpeakerWhoseSoundServerDiesIsHeardAgainSoonAfterItIsBack() throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let speaker = crew.nodes[0]
        let watch = try speaker.watch()
        let recording = try lab.record("h3")
        let key = try speaker.hold()
        try speaker.waitForFloor("ours")
        let file = try Speech.file(seconds: 20, seed: 6)
        try lab.speak("h1", file)
        Lab.pass(seconds: 2)
        let killed = Lab.now()
        try lab.tool("svc", "h1", "audio", "kill")
        _ = try watch.first(since: killed, within: 3, "device gone") { $0.deviceState == "lost" }
        Lab.pass(seconds: 1)
        #expect(speaker.process.isRunning)
        try lab.tool("svc", "h1", "audio", "start")
        let back = Lab.now()
        // The key was down all the time.
        let spoken = try Clip.wav(file, start: lab.speak("h1", file))
        Lab.pass(seconds: 5)
        try key.release()
        try expectVoice(try recording.stop(), of: spoken, within: 1, of: back)
      }
    }

    private func expectVoice(
      _ heard: Clip, of spoken: Clip, within seconds: Double, of back: Double
    ) throws {
      let listening = Listening(
        ear: heard.between(back, back + 5), mouths: [spoken], delays: 0.02...0.3)
      let voiced = listening.moments.filter { $0.voice == 0 }
      let first = try #require(voiced.first, "no voice after the sound server's return")
      print("sound back after \(Int((first.time - back) * 1_000)) ms")
      #expect(first.time - back <= seconds)
      #expect(voiced.count > 40, "heard in \(voiced.count) of 100 moments")
    }
  }
}
