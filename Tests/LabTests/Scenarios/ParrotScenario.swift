import Testing

/// One person tries microphone, floor and loudspeaker alone.
extension OnTheLab {
  @Suite struct ParrotScenario {
    @Test func aParrotOnTheSameMachineRepeatsWhatOnePersonSaid() throws {
      try Lab.with(hosts: 1) { lab in
        let anna = try Node(lab, "h1")
        let parrot = try Node(lab, "h1", state: "parrot", options: ["--parrot"])
        try anna.run("channel", "create", "parrot")
        try parrot.run("join", input: anna.run("invite") + "\n")
        try Lab.wait(seconds: 15, "the parrot does not hear anna") {
          try anna.status().channel?.members.contains { $0.name == "parrot" && $0.hearsMe } == true
        }
        let ear = try lab.record("h1")
        let events = try anna.watch()

        let pressed = Lab.now()
        let key = try anna.hold()
        _ = try events.permit(since: pressed)
        let file = try Speech.file(seconds: 3, seed: 3)
        let spoken = try Clip.wav(file, start: lab.speak("h1", file))
        Lab.pass(seconds: spoken.start + spoken.duration + 0.2 - Lab.now())
        try key.release()

        let released = Lab.now()
        try anna.waitForFloor("taken", seconds: 3)
        print("the parrot speaks \(Int((Lab.now() - released) * 1_000)) ms after the release")
        try anna.waitForFloor("idle", seconds: spoken.duration + 5)
        Lab.pass(seconds: 0.5)
        let heard = try ear.stop()
        let back = spoken.duration...(spoken.duration + 3)
        let similarity = Similarity(spoken: spoken, heard: heard, delays: back)
        print("parrot: \(similarity)")
        #expect(similarity.median >= 0.85, "\(similarity)")
        #expect(similarity.headMissing <= 0.1, "\(similarity)")
        #expect(similarity.tailMissing <= 0.1, "\(similarity)")
      }
    }
  }
}
