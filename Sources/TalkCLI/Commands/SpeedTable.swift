import Glibc
import TalkCore
import TalkSim

/// Speed and control traffic of floor machines by the number of nodes.
enum SpeedTable {
  /// The sizes that targets.md names, and 20, whose speed is gated.
  private static let sizes = [2, 3, 10, 20, 50, 200, 500]

  static func run(_ context: Context) -> Int32 {
    context.print("nodes\tpresses\tbursts\tgroup sends/burst\tsingle sends/burst\t× real time")
    for size in sizes {
      let mix = FaultMix.named("even")!
      let presses = size <= 20 ? 120 : size <= 50 ? 40 : 12
      let run = SimulationRun(seed: 1, mix: mix, presses: presses, nodes: size)
      let start = seconds()
      let outcome = run.run()
      let spent = seconds() - start
      let bursts = Double(max(outcome.counts.bursts, 1))
      let line = [
        "\(size)", "\(outcome.counts.presses)", "\(outcome.counts.bursts)",
        decimal(Double(outcome.counts.groupSends) / bursts),
        decimal(Double(outcome.counts.singleSends) / bursts),
        decimal(outcome.virtual.milliseconds / 1_000 / max(spent, 1e-9)),
      ]
      context.print(line.joined(separator: "\t"))
      if let violation = outcome.violation {
        context.tell("\(violation.invariant): \(violation.text); replay: \(run.command)")
        return 1
      }
    }
    return wholeNodes(context)
  }

  /// Whole nodes, sessions included, with marked frames: one talks at a time, and all hear it.
  private static func wholeNodes(_ context: Context) -> Int32 {
    let scene = WholeNodeScene(nodes: 20, seed: 1)
    guard let scene, scene.join() else {
      context.tell("talkaround: whole nodes do not come together")
      return 1
    }
    let start = seconds()
    let length = 60
    scene.talk(seconds: length)
    let spent = seconds() - start
    context.print("20 whole nodes: \(decimal(Double(length) / max(spent, 1e-9))) × real time")
    return ExitCode.ok
  }

  private static func decimal(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  private static func seconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
