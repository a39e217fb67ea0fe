import Glibc
import TalkSim

/// `talkaround simulate`: the floor's invariants over many seeds, on all cores; for those who work
/// on the program.
enum SimulateCommand {
  static let command = Command(
    "simulate",
    options: [
      Option("--seed", "N", help: "the first seed; a fresh one unless given"),
      Option("--seeds", "COUNT", help: "how many seeds; 1 when --seed is given, else 200"),
      Option("--bursts", "COUNT", help: "go on until so many bursts were heard"),
      Option("--seconds", "COUNT", help: "stop after so much time"),
      Option("--mix", "NAME", help: "which faults; all mixes in turn unless given"),
      Option("--presses", "COUNT", help: "how many presses a seed has; 40 unless given"),
      Option("--nodes", "COUNT", help: "how many nodes; as many as the mix draws unless given"),
      Option("--items", "RANGES", help: "only these items of the script, as a replay names them"),
      Option("--only", "NAME", help: "judge this invariant alone"),
      Option("--trace", "LINES", help: "how much of what happened to show; 60 lines unless given"),
      Option("--list", help: "list the mixes"),
      Option("--speed", help: "measure speed and control traffic for 2 to 500 nodes"),
    ],
    summary: "run the floor's simulator and judge its invariants",
    notes: [
      "A broken invariant is shrunk and told with the command that replays it; exit code 1."
    ], isHidden: true
  ) { invocation, context throws(CommandError) in
    if invocation.has("--list") {
      for mix in FaultMix.all { context.print("\(mix.name)\t\(mix.note)") }
      return ExitCode.ok
    }
    if invocation.has("--speed") { return SpeedTable.run(context) }
    return SimulationCampaign(try plan(invocation), context).run()
  }

  private static func plan(
    _ invocation: Invocation
  ) throws(CommandError) -> SimulationCampaign.Plan {
    var mixes = FaultMix.all
    if let name = invocation.value("--mix") {
      guard let mix = FaultMix.named(name) else {
        throw .usage("no mix is called '\(name)'; 'talkaround simulate --list' lists them")
      }
      mixes = [mix]
    }
    let seed = try number("--seed", invocation, in: 0...Int.max)
    let bursts = try number("--bursts", invocation, in: 1...1_000_000_000)
    let seconds = try number("--seconds", invocation, in: 1...1_000_000)
    let seeds = try number("--seeds", invocation, in: 1...100_000_000)
    var items: [Int]?
    if let text = invocation.value("--items") {
      guard let numbers = ItemRanges.numbers(text) else {
        throw .usage("--items takes ranges such as 0-3,7, not '\(text)'")
      }
      items = numbers
    }
    if let only = invocation.value("--only"), !Judge.invariants.contains(only) {
      throw .usage("--only takes one of \(Judge.invariants.joined(separator: ", "))")
    }
    let open = bursts != nil || seconds != nil
    return SimulationCampaign.Plan(
      firstSeed: seed.map(UInt64.init) ?? freshSeed(),
      seeds: seeds ?? (open ? 0 : seed != nil ? 1 : 200), bursts: bursts ?? 0,
      seconds: seconds, mixes: mixes,
      presses: try number("--presses", invocation, in: 1...100_000) ?? 40,
      nodes: try number("--nodes", invocation, in: 2...1_000), items: items,
      only: invocation.value("--only"),
      traceLines: try number("--trace", invocation, in: 0...1_000_000) ?? 60)
  }

  private static func number(
    _ option: String, _ invocation: Invocation, in range: ClosedRange<Int>
  ) throws(CommandError) -> Int? {
    guard let text = invocation.value(option) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .usage("\(option) takes a whole number from \(range.lowerBound), not '\(text)'")
    }
    return number
  }

  /// A seed that nobody has tried, short enough to be read out.
  private static func freshSeed() -> UInt64 { UInt64.random(in: 0..<1_000_000_000) }
}
