import Glibc
import Testing

/// A stranger throws rubbish at a node.
extension OnTheLab {
  @Suite struct FloodScenario {
    @Test func aMillionHostileDatagramsAreNotAnsweredAndHarmNoVoice() throws {
      try Lab.with(hosts: 4) { lab in
        let sniffer = try lab.sniff("h1")
        let crew = try Crew(lab)
        let (attacked, speaker) = (crew.nodes[0], crew.nodes[1])
        let key = try speaker.hold()
        try speaker.waitForFloor("ours")
        let file = try Speech.file(seconds: 40, seed: 7)
        let spoken = try Clip.wav(file, start: lab.speak("h2", file))
        Lab.pass(seconds: 3)
        // Handshakes, control and voice, as they came to the attacked node.
        _ = try sniffer.stop()
        let port = try attacked.status().node.port
        let before = try attacked.memory()
        let recordings = try ["h1", "h3"].map { try lab.record($0) }

        let answer = try lab.tool(
          "flood", "h4", lab.address("h1"), "\(port)", "1000000", "11", "40000", sniffer.path,
          seconds: 120)
        print("flood: \(answer); memory \(before) KiB before, \(try attacked.memory()) after")
        #expect(answer.hasPrefix("sent 1000000 "))
        #expect(answer.hasSuffix("answered 0"))
        #expect(attacked.process.isRunning)
        #expect(try attacked.memory() - before < 4_096, "memory grew")
        try key.release()

        for recording in recordings {
          let heard = try recording.stop()
          let part = spoken.between(heard.start + 2, heard.start + 22)
          let similarity = Similarity(spoken: part, heard: heard)
          print("during the flood: \(similarity)")
          #expect(similarity.median >= 0.9 && similarity.badWindows == 0, "\(similarity)")
        }
        try crew.waitUntilAllHearEachOther(seconds: 2)
      }
    }
  }
}
