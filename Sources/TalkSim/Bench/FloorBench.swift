import TalkCore
import TalkFloor

/// `talkaround bench floor`: every scenario for both machines, with the same seeds.
package struct FloorBench: Sendable {
  /// How far a run is.
  package struct Progress: Sendable {
    /// Steps that are done.
    package var done: Int
    /// How many there are.
    package var of: Int
    /// What comes next.
    package var next: String
  }

  /// How many seeds each scenario has.
  package var seeds: Int
  /// The first seed; the others follow it.
  package var firstSeed: UInt64
  /// True for few nodes, few rounds and small meshes: seconds instead of minutes.
  package var isQuick: Bool

  /// A bench with these seeds.
  package init(seeds: Int, firstSeed: UInt64 = 1, isQuick: Bool = false) {
    self.seeds = seeds
    self.firstSeed = firstSeed
    self.isQuick = isQuick
  }

  /// How many nodes the scenarios have.
  package var nodes: Int { isQuick ? 8 : 20 }
  private func rounds(of scenario: FloorScenario) -> Int {
    isQuick ? min(scenario.rounds, 6) : scenario.rounds
  }
  private var scale: [Int] { isQuick ? [2, 3, 10, 33] : [2, 3, 10, 50, 200, 500] }

  /// Runs everything. `spent` tells the processor time of this thread so far, for the speed;
  /// `progress` is told before each step.
  package func run(
    spent: () -> Duration?, progress: (Progress) -> Void
  ) -> FloorReport {
    let scenarios = FloorScenario.all
    let steps = scenarios.count + scale.count
    var report = FloorReport(
      seeds: seeds, firstSeed: firstSeed, nodes: nodes, isQuick: isQuick, rows: [], scale: [])
    for (number, scenario) in scenarios.enumerated() {
      progress(Progress(done: number, of: steps, next: scenario.name))
      report.rows.append(row(scenario, spent: spent))
    }
    for (number, count) in scale.enumerated() {
      progress(Progress(done: scenarios.count + number, of: steps, next: "\(count) nodes"))
      report.scale.append(scaleStep(count, spent: spent))
    }
    return report
  }

  private func row(_ scenario: FloorScenario, spent: () -> Duration?) -> FloorReport.Row {
    var ours = FloorFigures()
    var baseline = FloorFigures()
    for number in 0..<seeds {
      let seed = firstSeed &+ UInt64(number)
      let script = scenario.script(nodes: nodes, rounds: rounds(of: scenario), seed: seed)
      ours.add(
        Self.measure(FloorMachine.self, script, scenario.network, seed: seed, spent: spent))
      baseline.add(
        Self.measure(OffNetworkFloor.self, script, scenario.network, seed: seed, spent: spent))
    }
    var targets = scenario.targets
    // Without a clock there is no speed to judge, and a debug build has none worth judging.
    if scenario.isForSpeed, !isQuick, ours.speed != nil { targets.append(.speed(500)) }
    return FloorReport.Row(
      name: scenario.name, note: scenario.note, ours: ours, baseline: baseline, targets: targets)
  }

  private func scaleStep(_ count: Int, spent: () -> Duration?) -> FloorReport.Scale {
    let scenario = FloorScenario.plainBursts
    let script = scenario.script(nodes: count, rounds: isQuick ? 4 : 10, seed: firstSeed)
    return FloorReport.Scale(
      nodes: count,
      ours: Self.measure(
        FloorMachine.self, script, scenario.network, seed: firstSeed, spent: spent),
      baseline: Self.measure(
        OffNetworkFloor.self, script, scenario.network, seed: firstSeed, spent: spent))
  }

  /// One machine, one seed.
  static func measure<Party: FloorParty>(
    _ party: Party.Type, _ script: Script, _ network: FaultMix, seed: UInt64,
    spent: () -> Duration?
  ) -> FloorFigures {
    let before = spent()
    var world = FloorWorld<Party, FloorMeter>(
      script: script, mix: network, seed: seed, sink: FloorMeter(nodes: script.nodes))
    world.run()
    world.sink.finish(at: world.now)
    var figures = world.sink.figures
    // The rest after the script is idle and nearly free: it would flatter the speed.
    figures.simulated = script.end
    if let before, let after = spent() { figures.spent = after - before }
    return figures
  }
}
