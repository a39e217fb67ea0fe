import TalkFloor
import TalkSim
import Testing

/// Runs repeat, and a shrunk one still fails.
@Suite struct RunTests {
  @Test(arguments: FaultMix.all.map(\.name))
  func aSeedRepeatsBitForBit(mix: String) throws {
    let run = SimulationRun(seed: 7, mix: try #require(FaultMix.named(mix)), presses: 6)
    let (first, second) = (run.run(), run.run())
    #expect(first.hash == second.hash)
    #expect(first.counts == second.counts)
    #expect(first.counts.bursts > 0)
  }
}
