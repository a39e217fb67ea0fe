import Glibc
import Testing

/// People talk: what one says the others hear, and who holds no secret hears nothing.
extension OnTheLab {
  @Suite struct SpeechScenarios {
    @Test func tenSecondsOfSpeechAreHeardByTheOthersAndAPressMeanwhileWaitsItsTurn() throws {
      try Lab.with(hosts: 3) { lab in
        let crew = try Crew(lab)
        let (anna, ben) = (crew.nodes[0], crew.nodes[1])
        let ears = try ["h2", "h3"].map { (host: $0, recording: try lab.record($0)) }
        let (annaEvents, benEvents) = (try anna.watch(), try ben.watch())
        Lab.pass(seconds: 1)

        let pressed = Lab.now()
        let annasKey = try anna.hold()
        let permitted = try annaEvents.permit(since: pressed)
        let file = try Speech.file(seconds: 10, seed: 1)
        let spoken = try Clip.wav(file, start: lab.speak("h1", file))

        Lab.pass(seconds: 4)
        let bensPress = Lab.now()
        let bensKey = try ben.hold()
        try expectQueued(ben, behind: anna)
        let tone = try benEvents.first(since: bensPress, within: 2, "busy or queued tone") {
          $0.tone == "busy" || $0.tone == "queued"
        }
        #expect(tone.holderName == (try anna.status().node.name))

        Lab.pass(seconds: spoken.start + spoken.duration + 0.3 - Lab.now())
        try annasKey.release()
        try ben.waitForFloor("ours")
        try bensKey.release()
        try crew.waitUntilIdle()

        print("press to permit tone \(Int((permitted - pressed) * 1_000)) ms, command included")
        for ear in ears {
          let similarity = Similarity(spoken: spoken, heard: try ear.recording.stop())
          print("h1 to \(ear.host): \(similarity)")
          #expect(similarity.median >= 0.9, "\(ear.host): \(similarity)")
          #expect(similarity.first >= 0.8 && similarity.last >= 0.8, "\(ear.host): \(similarity)")
          #expect(similarity.headMissing == 0, "\(ear.host): \(similarity)")
          #expect(similarity.tailMissing == 0, "\(ear.host): \(similarity)")
        }
      }
    }

    /// Busy, by whom, and which place.
    private func expectQueued(_ waiting: Node, behind speaking: Node) throws {
      try waiting.waitForFloor("queued")
      let channel = try #require(try waiting.status().channel)
      let speaker = try speaking.status().node
      #expect(channel.floor.holder == speaker.id)
      #expect(channel.floor.place == 1)
      #expect(channel.members.first { $0.id == speaker.id }?.name == speaker.name)
    }

    @Test func aHostWithAWrongSecretIsSentNothingAndHearsNothing() throws {
      try Lab.with(hosts: 4) { lab in
        let crew = try Crew(lab)
        let stranger = try Node(lab, "h4")
        try stranger.run("channel", "create", "crew")
        let sniffer = try lab.sniff("h4")
        let recording = try lab.record("h4")
        Lab.pass(seconds: 1)

        let key = try crew.nodes[0].hold()
        try crew.nodes[0].waitForFloor("ours")
        let file = try Speech.file(seconds: 5, seed: 2)
        let spoken = try Clip.wav(file, start: lab.speak("h1", file))
        Lab.pass(seconds: spoken.duration + 0.5)
        try key.release()

        let heard = try recording.stop()
        #expect(heard.samples.allSatisfy { abs(Int($0)) < 100 }, "the stranger hears something")
        let toStranger = try sniffer.stop().filter {
          !$0.isOutgoing && !$0.isForGroup && !$0.isMDNS
        }
        #expect(toStranger.map { "\($0.source):\($0.sourcePort) \($0.payload.count / 2)" } == [])
        #expect(try stranger.status().channel?.members.count == 0)
        for node in crew.nodes { #expect(try node.status().channel?.members.count == 2) }
      }
    }
  }
}
