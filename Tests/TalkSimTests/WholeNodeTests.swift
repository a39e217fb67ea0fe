import TalkSim
import Testing

/// Whole nodes, sessions included, with marked frames in place of encoded ones.
@Suite struct WholeNodeTests {
  @Test func everyNodePlaysEachTalkerAndNeverItself() throws {
    let scene = try #require(WholeNodeScene(nodes: 3, seed: 1))
    #expect(scene.join())
    scene.talk(seconds: 15)
    for (listener, heard) in scene.heard.enumerated() {
      for (talker, slots) in heard.enumerated() {
        // 4.7 s of talk are 235 slots of 20 ms; what fades in and out is not counted.
        #expect(
          talker == listener ? slots == 0 : slots >= 200, "\(listener) heard \(talker): \(slots)")
      }
    }
  }
}
