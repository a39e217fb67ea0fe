import TalkCore
import TalkFloor

/// Runs of the shipped floor machine by seed and mix, and reports of those that fail: what
/// `talkaround simulate` and the tests are made of.
package struct SimulationRun: Sendable {
  /// Which seed.
  package var seed: UInt64
  /// Which mix of faults.
  package var mix: FaultMix
  /// How many presses the script has, besides those that contend.
  package var presses: Int
  /// How many nodes; nil for as many as the mix draws.
  package var nodes: Int?
  /// The numbers of the script's items that are done; nil for all.
  package var items: [Int]?
  /// The one invariant that is judged; nil for all.
  package var only: String?

  /// A run.
  package init(
    seed: UInt64, mix: FaultMix, presses: Int = 40, nodes: Int? = nil, items: [Int]? = nil,
    only: String? = nil
  ) {
    self.seed = seed
    self.mix = mix
    self.presses = presses
    self.nodes = nodes
    self.items = items
    self.only = only
  }

  /// The command that does the same again.
  package var command: String {
    var words = ["talkaround simulate --seed \(seed) --mix \(mix.name) --presses \(presses)"]
    if let nodes { words.append("--nodes \(nodes)") }
    if let items { words.append("--items \(ItemRanges.text(items))") }
    if let only { words.append("--only \(only)") }
    return words.joined(separator: " ")
  }

  private func floorRun<Party: FloorParty>(_ party: Party.Type) -> FloorRun<Party> {
    var run = FloorRun<Party>(seed: seed, mix: mix, bursts: presses, nodes: nodes, only: only)
    if let items { run.script.keep(items) }
    return run
  }

  /// Runs the shipped machine.
  package func run(traceLines: Int = 0) -> RunOutcome {
    floorRun(FloorMachine.self).run(traceLines: traceLines)
  }

  /// Runs another party, as the canaries are.
  package func run<Party: FloorParty>(
    _ party: Party.Type, traceLines: Int = 0
  ) -> RunOutcome {
    floorRun(party).run(traceLines: traceLines)
  }

  /// The same failure with less in it: items of the script are left out, in ever smaller pieces,
  /// while the same invariant breaks (after Zeller's ddmin), for at most `tries` runs.
  package func shrunk<Party: FloorParty>(_ party: Party.Type, tries: Int = 120) -> SimulationRun {
    var best = self
    guard let first = run(party).violation else { return self }
    best.only = first.invariant
    best.nodes = Script(mix, seed: seed, bursts: presses, nodes: nodes).nodes
    let all = floorRun(party).script.items
    let late = first.at - Instant(nanoseconds: FloorWorld<Party, Judge>.start)
    // What would come after the violation can't matter.
    var kept = all.filter { $0.at <= late }.map(\.number).sorted()
    var left = tries
    func fails(_ items: [Int]) -> Bool {
      left -= 1
      var candidate = best
      candidate.items = items
      return candidate.run(party).violation?.invariant == first.invariant
    }
    guard fails(kept) else { return best }
    var piece = max(1, kept.count / 2)
    while left > 0, !kept.isEmpty {
      var start = 0
      var removed = false
      while start < kept.count, left > 0 {
        let end = min(start + piece, kept.count)
        let fewer = Array(kept[..<start] + kept[end...])
        if fails(fewer) {
          kept = fewer
          removed = true
        } else {
          start = end
        }
      }
      if piece == 1, !removed { break }
      piece = max(1, piece / 2)
    }
    best.items = kept
    return best
  }

  /// The shipped machine's failure with less in it.
  package func shrunk() -> SimulationRun { shrunk(FloorMachine.self) }

  /// What went wrong with the shipped machine, for people; nil when nothing does.
  package func report(traceLines: Int = 60) -> [String]? {
    report(FloorMachine.self, traceLines: traceLines)
  }

  /// What went wrong, for people: the invariant, the trace, and the command that replays it; nil
  /// when nothing does.
  package func report<Party: FloorParty>(
    _ party: Party.Type, traceLines: Int = 60
  ) -> [String]? {
    let outcome = run(party, traceLines: traceLines)
    guard let violation = outcome.violation else { return nil }
    let micros = (violation.at.nanoseconds - FloorWorld<Party, Judge>.start) / 1_000
    return [
      "\(violation.invariant) broken at \(micros / 1_000) ms by \(nodeName(violation.node)): "
        + violation.text
    ] + outcome.trace.map { "  " + $0 } + ["replay: \(command)"]
  }
}

/// Numbers as ranges, such as 0-3,7: for command lines.
package enum ItemRanges {
  /// The text of rising numbers; "none" for no number.
  package static func text(_ numbers: [Int]) -> String {
    var parts: [String] = []
    var start = 0
    while start < numbers.count {
      var end = start
      while end + 1 < numbers.count, numbers[end + 1] == numbers[end] + 1 { end += 1 }
      parts.append(
        start == end ? "\(numbers[start])" : "\(numbers[start])-\(numbers[end])")
      start = end + 1
    }
    return parts.isEmpty ? "none" : parts.joined(separator: ",")
  }

  /// The most numbers that a text may name.
  private static let limit = 100_000

  /// The numbers of a text; nil when it is none.
  package static func numbers(_ text: String) -> [Int]? {
    if text == "none" { return [] }
    var numbers: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil,
        first >= 0, last >= first, last - first < limit, numbers.count < limit
      else { return nil }
      numbers += Array(first...last)
    }
    return numbers
  }
}

extension Script {
  /// Leaves out every item whose number is not among `numbers`; the run ends a while after the last
  /// that is left.
  package mutating func keep(_ numbers: [Int]) {
    let wanted = numbers.sorted()
    items.removeAll { item in
      var (low, high) = (0, wanted.count)
      while low < high {
        let middle = (low + high) / 2
        if wanted[middle] < item.number { low = middle + 1 } else { high = middle }
      }
      return low == wanted.count || wanted[low] != item.number
    }
  }
}
