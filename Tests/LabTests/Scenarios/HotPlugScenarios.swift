import Foundation
import Testing

/// Microphones and loudspeakers that come, go and change while somebody speaks.
extension OnTheLab {
  @Suite struct HotPlugScenarios {
    /// The least of what several rounds took: the machine may be busy in one.
    private static func best(_ rounds: Int = 3, _ body: (Int) throws -> Double?) throws -> Double {
      var took: [Double] = []
      for round in 1...rounds {
        if let seconds = try body(round) { took.append(seconds) }
        if let best = took.min(), best <= 1 { return best }
      }
      return try #require(took.min(), "no sound in \(rounds) rounds")
    }

    /// How long after `action` the tone is at the ear of `host`, whose speaker is `source` then.
    private static func soundBack(
      _ lab: Lab, _ host: String, source: String = "speaker.monitor", _ action: () throws -> Void
    ) throws -> Double? {
      let began = Lab.now()
      try action()
      let recording = try lab.record(host, source: source)
      Lab.pass(seconds: 1.5)
      return try recording.stop().onset(after: began).map { $0 - began }
    }

    // D1, D3
    @Test func theDefaultMicrophoneThatChangesIsFollowedWhileWeSpeak() throws {
      try Lab.with(hosts: 2) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        let took = try Self.best { _ in
          let recording = try lab.record("h2")
          let changed = Lab.now()
          let tone = try lab.plugInTone("h1")
          Lab.pass(seconds: 1.2)
          let heard = try recording.stop().onset(after: changed).map { $0 - changed }
          #expect(try crew.nodes[0].status().node.audio?.capture == "pulse:tone")
          try lab.sh("h1", "pactl set-default-source mic")
          try lab.unload("h1", tone)
          // What is under way is played out.
          Lab.pass(seconds: 0.5)
          return heard
        }
        print("another microphone heard after \(Int(took * 1_000)) ms")
        #expect(took <= 1)
        try key.release()
        #expect(try crew.nodes[0].status().node.audio?.capture == "pulse:mic")
      }
    }

    // D1
    @Test func theDefaultLoudspeakerThatChangesIsFollowedWhileWeListen() throws {
      try Lab.with(hosts: 2) { lab in
        _ = try lab.plugInTone("h1")
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        let took = try Self.best { _ in
          var headset = ""
          let took = try Self.soundBack(lab, "h2", source: "headset.monitor") {
            headset = try lab.plugInHeadset("h2")
          }
          try lab.sh("h2", "pactl set-default-sink speaker")
          try lab.unload("h2", headset)
          return took
        }
        print("another loudspeaker plays after \(Int(took * 1_000)) ms")
        #expect(took <= 1)
        try key.release()
      }
    }

    // D1
    @Test func aMicrophoneThatIsUnpluggedAndPluggedInAgainIsHeardAgain() throws {
      try Lab.with(hosts: 2) { lab in
        try lab.unload("h1", "module-pipe-source")
        var tone = try lab.plugInTone("h1")
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let watch = try crew.nodes[0].watch()
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        let took = try Self.best { _ in
          let unplugged = Lab.now()
          try lab.unload("h1", tone)
          _ = try watch.first(since: unplugged, within: 2, "microphone gone") {
            $0.deviceState == "lost"
          }
          Lab.pass(seconds: 0.5)
          return try Self.soundBack(lab, "h2") { tone = try lab.plugInTone("h1") }
        }
        print("heard \(Int(took * 1_000)) ms after it was plugged in again")
        #expect(took <= 1)
        try key.release()
        #expect(crew.nodes[0].process.isRunning)
      }
    }

    // D1, D12
    @Test func aLoudspeakerThatIsUnpluggedAndPluggedInAgainPlaysAgain() throws {
      try Lab.with(hosts: 2) { lab in
        _ = try lab.plugInTone("h1")
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let watch = try crew.nodes[1].watch()
        // The first voice comes while there is no loudspeaker at all.
        try lab.unload("h2", "module-null-sink")
        _ = try watch.first(since: 0, within: 2, "loudspeaker gone") { $0.deviceState == "lost" }
        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        Lab.pass(seconds: 1)
        let took = try Self.best { round in
          if round > 1 { try lab.unload("h2", "module-null-sink") }
          return try Self.soundBack(lab, "h2", source: "headset.monitor") {
            _ = try lab.plugInHeadset("h2")
          }
        }
        print("plays \(Int(took * 1_000)) ms after it was plugged in again")
        #expect(took <= 1)
        try key.release()
        #expect(crew.nodes[1].process.isRunning)
      }
    }

    // D3, D4
    @Test func withoutASoundServerTheNodeRunsSaysSoAndUsesOneThatComesLater() throws {
      try Lab.with(hosts: 2, environment: ["LAB_DAEMONS": "dbus avahi"]) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let node = crew.nodes[0]
        let refused = try node.attempt("talk", "press")
        #expect(refused.code == 69)
        #expect(refused.err.contains("no sound server"), "\(refused.err)")
        #expect(node.log.filter { $0.contains("no sound server") }.count == 2, "\(node.log)")
        for host in ["h1", "h2"] { try lab.tool("svc", host, "audio", "start") }
        _ = try lab.plugInTone("h1")
        let recording = try lab.record("h2")
        try Lab.wait(seconds: 3, "no sound") {
          try node.status().node.audio?.capture == "pulse:tone"
            && crew.nodes[1].status().node.audio?.playback == "pulse:speaker"
        }
        let key = try node.hold()
        try node.waitForFloor("ours")
        Lab.pass(seconds: 1)
        try key.release()
        #expect(try recording.stop().onset(after: 0) != nil)
      }
    }

    // D10
    @Test func withoutARuntimeFolderTheLineNamesTheSoundServerAndTheCure() throws {
      try Lab.with(hosts: 1) { lab in
        let program = try Requirements.talkaround()
        let node = try lab.start(
          "h1",
          [
            "env", "-u", "XDG_RUNTIME_DIR", "-u", "PULSE_RUNTIME_PATH", "HOME=/nonexistent",
            "PULSE_SERVER=unix:/nonexistent/native", program, "--state",
            "\(lab.home("h1"))/service", "run",
            "--headless", "--no-avahi",
          ])
        try Lab.wait(seconds: 5, "no line") {
          node.complaints.contains("no sound server at unix:/nonexistent/native (")
        }
        #expect(node.complaints.contains("systemctl --user start pulseaudio"))
        #expect(node.isRunning)
      }
    }

    @Test func withoutAMicrophoneWeListenAndAMonitorIsNoMicrophone() throws {
      try Lab.with(hosts: 2) { lab in
        let crew = try Crew(lab, hosts: ["h1", "h2"])
        let node = crew.nodes[0]
        // What is left as default source is what the loudspeaker plays.
        try lab.unload("h1", "module-pipe-source")
        try Lab.wait(seconds: 2, "the monitor is not refused") {
          node.log.contains { $0.contains("is what the loudspeaker plays, not a microphone") }
        }
        let refused = try node.attempt("talk", "press")
        #expect(refused.code == 69)
        #expect(refused.err.contains("not a microphone"), "\(refused.err)")
        try lab.unload("h1", "module-null-sink")
        try Lab.wait(seconds: 2, "nothing says that there is no microphone") {
          node.log.contains { $0.contains("no microphone: plug one in") }
        }
        #expect(try node.attempt("talk", "press").code == 69)
        #expect(try node.present() == ["h2"])
      }
    }
  }
}
