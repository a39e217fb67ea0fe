import TalkCore
import TalkSession
import Testing

@Suite struct ReplayWindowTests {
  /// Counters in the order in which they come, and whether each is taken.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [(counter: UInt64, taken: Bool)]

    static let all = [
      Case(testDescription: "in order", steps: (0..<200).map { (UInt64($0), true) }),
      Case(testDescription: "the first twice", steps: [(0, true), (0, false), (1, true)]),
      Case(testDescription: "reordered", steps: [(5, true), (3, true), (4, true), (3, false)]),
      Case(
        testDescription: "the window's end, and one past it",
        steps: [(5_000, true), (2_953, true), (2_952, false), (2_953, false)]),
      Case(
        testDescription: "the end after a word boundary",
        steps: [(64 * 40, true), (64 * 40 - 2_047, true), (64 * 40 - 2_048, false)]),
      Case(
        testDescription: "a jump over the whole ring forgets old bits",
        steps: [(7, true), (7 + 33 * 64, true), (8 + 33 * 64 - 64, true), (7, false)]),
      Case(
        testDescription: "a jump of exactly one ring does not remember the old word",
        steps: [(1, true), (33 * 64 + 1, true), (33 * 64 + 1, false), (33 * 64, true)]),
      Case(
        testDescription: "a far jump",
        steps: [(0, true), (1 << 47, true), ((1 << 47) - 2_047, true), (0, false)]),
    ]
  }

  @Test(arguments: Case.all) func countersAreTakenOnce(table: Case) {
    var window = ReplayWindow()
    for step in table.steps {
      #expect(window.permits(step.counter) == step.taken, "\(step.counter)")
      if step.taken { window.commit(step.counter) }
    }
  }

  @Test(arguments: 1...8) func itAgreesWithAListOfAllCounters(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var window = ReplayWindow()
    var seen: Set<UInt64> = []
    var highest: UInt64 = 0
    for _ in 0..<20_000 {
      let reach: UInt64 = generator.next() % 50 == 0 ? 5_000 : 80
      let back = generator.next() % 2_200
      let near = generator.next() % 4 == 0 ? back : generator.next() % 100
      let counter = highest + generator.next() % reach - min(near, highest)
      let isFresh =
        counter > highest || (highest - counter < ReplayWindow.size && !seen.contains(counter))
      #expect(window.permits(counter) == isFresh)
      guard isFresh else { continue }
      #expect(window.commit(counter) == (counter > highest || seen.isEmpty))
      seen.insert(counter)
      highest = max(highest, counter)
      #expect(window.highest == highest)
    }
  }
}
