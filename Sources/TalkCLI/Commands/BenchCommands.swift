import Glibc
import TalkCore
import TalkKit
import TalkSim

/// `talkaround bench …`: measures our own parts beside what they are to beat.
enum BenchCommands {
  static let commands = [floor]

  /// What a bench ends with when a figure misses its target.
  static let missed: Int32 = 1
  private static let mostSeeds = 1_000

  private static let floor = Command(
    "bench floor",
    options: [
      ChannelCommands.json,
      Option("--seeds", "N", help: "how many seeds each scenario has (10; 2 with --quick)"),
      Option("--quick", help: "few nodes and rounds: seconds instead of minutes"),
    ],
    summary: "measure the floor beside 3GPP's off-network floor, in simulation",
    notes: [
      "Both machines run in the same simulated network with the same seeds and presses: our floor",
      "as it is shipped, and the off-network floor control of 3GPP TS 24.380 clause 7. Needs no",
      "node, no network and no sound. Exit code 1: a figure of ours misses its target.",
    ]
  ) { invocation, context throws(CommandError) in
    let isQuick = invocation.has("--quick")
    let seeds = try seedCount(invocation.value("--seeds")) ?? (isQuick ? 2 : 10)
    let showsProgress = isatty(context.error) == 1
    let report = FloorBench(seeds: seeds, isQuick: isQuick).run(spent: processorTime) { progress in
      guard showsProgress else { return }
      let line = "\r\u{1b}[K\(progress.done + 1) of \(progress.of): \(progress.next)"
      Context.write(Array(line.utf8), to: context.error)
    }
    if showsProgress { Context.write(Array("\r\u{1b}[K".utf8), to: context.error) }
    if invocation.has("--json") {
      Context.write(JSONLine.encode(report) + [UInt8(ascii: "\n")], to: context.output)
    } else {
      for line in report.lines { context.print(line) }
    }
    return report.isMet ? ExitCode.ok : missed
  }

  private static func seedCount(_ text: String?) throws(CommandError) -> Int? {
    guard let text else { return nil }
    guard let count = Int(text), (1...mostSeeds).contains(count) else {
      throw .usage("--seeds takes a whole number from 1 to \(mostSeeds), not '\(text)'")
    }
    return count
  }

  /// The processor time of this thread so far (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID).
  private static func processorTime() -> Duration? {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return nil }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
