import TalkCore
import TalkWire

/// One row of the bench: a network, and what people and faults do on it, drawn from a seed before
/// either machine runs, so that both meet the same.
package struct FloorScenario: Sendable {
  /// Its name in the table and in JSON.
  package var name: String
  /// What happens, in a sentence.
  package var note: String
  /// What ours must reach here.
  package var targets: [FloorTarget]
  /// The network.
  var network: FaultMix
  /// Writes what is done: `count` nodes, from the seed.
  var script: @Sendable (_ count: Int, _ rounds: Int, inout SeededGenerator) -> Script
  /// How many rounds one seed has in the full bench.
  var rounds = 20
  /// True for the row in which the simulation's own speed is judged.
  var isForSpeed = false

  /// A LAN: about 1 ms one way and up to 1 ms of jitter. Where datagrams are lost they also
  /// overtake one another, as over Wi-Fi; a wired LAN keeps their order.
  static func lan(loss: Double = 0) -> FaultMix {
    FaultMix("bench", "the bench's LAN").with {
      $0.delay = .microseconds(500)...(.microseconds(1_500))
      $0.jitter = .milliseconds(1)
      $0.keepsOrder = loss == 0
      $0.loss = loss
    }
  }

  /// The script for a seed.
  func script(nodes: Int, rounds: Int, seed: UInt64) -> Script {
    var generator = SeededGenerator(seed: seed ^ 0xbe4c_0000_f100_0001)
    return script(nodes, rounds, &generator)
  }
}

/// Collects the items of a script, by time.
struct ScriptWriter {
  private(set) var items: [Script.Item] = []
  let nodes: Int
  /// Where the script has come to.
  var time = Duration.seconds(2)
  /// Longer than anybody waits in a run.
  static let patience = Duration.seconds(120)

  init(nodes: Int) { self.nodes = nodes }

  mutating func add(_ what: Script.What, after delay: Duration = .zero) {
    items.append(Script.Item(number: items.count, at: time + delay, what: what))
  }

  mutating func press(
    _ node: Int, _ floorClass: FloorClass = .normal, talk: Duration, after delay: Duration = .zero
  ) {
    add(.press(node: node, floorClass, talk: talk, patience: Self.patience), after: delay)
  }

  /// The script; `tail` is left for the last burst to end.
  func script(tail: Duration = .seconds(1)) -> Script {
    let sorted = items.sorted { ($0.at, $0.number) < ($1.at, $1.number) }
    return Script(nodes: nodes, items: sorted, end: time + tail)
  }
}

extension Script {
  /// A script that is written out rather than drawn.
  init(nodes: Int, items: [Item], end: Duration) {
    self.nodes = nodes
    self.items = items
    self.end = end
  }
}

extension SeededGenerator {
  /// That many different nodes of `count`.
  mutating func nodes(_ wanted: Int, of count: Int) -> [Int] {
    var all = Array(0..<count)
    for index in 0..<min(wanted, count) {
      all.swapAt(index, index + Int(number(in: 0...Int64(count - index - 1))))
    }
    return Array(all.prefix(wanted))
  }

  /// A duration evenly from a range of milliseconds.
  mutating func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
    .microseconds(number(in: range.lowerBound * 1_000...range.upperBound * 1_000))
  }

  /// A press as NIST's: 4.69 s on average, exponential, from 0.3 to 15 s.
  mutating func talk() -> Duration {
    .nanoseconds(min(exponential(mean: 4_690_000_000, from: 300_000_000), 15_000_000_000))
  }
}
