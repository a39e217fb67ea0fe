import TalkFloor
import TalkSim
import Testing

/// Runs repeat, and a shrunk one still fails.
@Suite struct RunTests {
  @Test(arguments: FaultMix.all.map(\.name))
  func aSeedRepeatsBitForBit(mix: String) throws {
    let run = SimulationRun(seed: 7, mix: try #require(FaultMix.named(mix)), presses: 3)
    let (first, second) = (run.run(), run.run())
    #expect(first.hash == second.hash)
    #expect(first.counts == second.counts)
    #expect(first.counts.bursts > 0)
  }

  /// A small slice of what `talkaround simulate` does at length.
  @Test(arguments: FaultMix.all.map(\.name))
  func theShippedMachineBreaksNoInvariant(mix: String) throws {
    for seed in UInt64(1)...2 {
      let run = SimulationRun(
        seed: seed, mix: try #require(FaultMix.named(mix)), presses: 6, nodes: 4)
      let report = run.report()
      #expect(report == nil, "\(report?.joined(separator: "\n") ?? "")")
    }
  }

  @Test func aShrunkRunBreaksTheSameInvariantWithLess() throws {
    enum Deaf: Broken { static let breakage = Breakage.ignoresRelease }
    let run = SimulationRun(seed: 1, mix: try #require(FaultMix.named("clean")), presses: 20)
    let small = run.shrunk(BrokenMachine<Deaf>.self)
    let before = try #require(run.run(BrokenMachine<Deaf>.self).violation)
    let after = try #require(small.run(BrokenMachine<Deaf>.self).violation)
    #expect(after.invariant == before.invariant)
    #expect(try #require(small.items).count <= 2)
    #expect(small.command.contains("--items"))
    let report = try #require(small.report(BrokenMachine<Deaf>.self))
    #expect(report.first?.hasPrefix(before.invariant) == true)
    #expect(report.last == "replay: \(small.command)")
  }

  @Test(arguments: [
    ([0, 1, 2, 5], "0-2,5"), ([], "none"), ([7], "7"),
  ])
  func itemsAreWrittenAsRangesAndReadBack(numbers: [Int], text: String) {
    #expect(ItemRanges.text(numbers) == text)
    #expect(ItemRanges.numbers(text) == numbers)
  }

  @Test(arguments: ["", "1-", "-1", "3-1", "x", "1,,2", "0-999999999"])
  func itemsThatAreNoRangesAreRefused(text: String) {
    #expect(ItemRanges.numbers(text) == nil)
  }

  @Test(arguments: [2, 3, 10, 50])
  func groupSendsOfControlPerBurstDoNotGrowWithTheMesh(nodes: Int) throws {
    let mix = try #require(FaultMix.named("even"))
    let counts = SimulationRun(seed: 5, mix: mix, presses: 20, nodes: nodes).run().counts
    #expect(counts.bursts >= 10)
    #expect(Double(counts.groupSends) / Double(counts.bursts) <= 20)
  }
}
