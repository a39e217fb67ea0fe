import Glibc
import TalkCore
import TalkSim

/// Many runs of the simulator on all cores. Seeds are handed out in order, mixes in turn; the first
/// violation of each invariant and mix is shrunk and told.
final class SimulationCampaign: Sendable {
  /// What is to be run.
  struct Plan: Sendable {
    let firstSeed: UInt64
    /// At least so many seeds.
    let seeds: Int
    /// At least so many bursts.
    let bursts: Int
    /// Stop after so much time, done or not.
    let seconds: Int?
    let mixes: [FaultMix]
    let presses: Int
    let nodes: Int?
    let items: [Int]?
    let only: String?
    let traceLines: Int
  }

  private struct State {
    var next = 0
    var done = 0
    var bursts = 0
    var frames = 0
    var virtual = Duration.zero
    var failures: [(run: SimulationRun, violation: Violation)] = []
    var failed = 0
    var told = 0
  }

  private let plan: Plan
  private let context: Context
  private let lock = Lock()
  private nonisolated(unsafe) var state = State()
  private let began = SimulationCampaign.seconds()
  /// The most failures that are shrunk and told in full.
  private static let reportLimit = 6

  init(_ plan: Plan, _ context: Context) {
    self.plan = plan
    self.context = context
  }

  /// Runs all and says what came of it; 1 when an invariant broke.
  func run() -> Int32 {
    let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    context.tell(
      "seeds from \(plan.firstSeed), \(plan.mixes.count) mixes, \(plan.presses) presses a seed, "
        + "\(cores) cores")
    let threads = (0..<cores).map { _ in BackgroundThread { self.work() } }
    for thread in threads { thread.join() }
    let state = unsafe self.state
    for failure in state.failures { tell(failure.run) }
    let spent = Self.seconds() - began
    let pace = state.virtual.milliseconds / 1_000 / max(spent, 0.001)
    context.print(
      "\(state.done) seeds, \(state.bursts) bursts, \(state.frames) frames heard, "
        + "\(Int(spent)) s (\(Int(pace)) × real time): \(state.failed) seeds broke an invariant")
    return state.failed == 0 ? ExitCode.ok : 1
  }

  private static func seconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private func work() {
    while let run = next() {
      let outcome = run.run()
      lock.withLock { unsafe count(run, outcome) }
    }
  }

  private func next() -> SimulationRun? {
    lock.withLock {
      let spent = Self.seconds() - began
      if let limit = plan.seconds, spent > Double(limit) { return nil }
      let enough = unsafe state.next >= plan.seeds && state.bursts >= plan.bursts
      if enough, plan.seconds == nil || plan.seeds + plan.bursts > 0 { return nil }
      let number = unsafe state.next
      unsafe state.next += 1
      return SimulationRun(
        seed: plan.firstSeed &+ UInt64(number), mix: plan.mixes[number % plan.mixes.count],
        presses: plan.presses, nodes: plan.nodes, items: plan.items, only: plan.only)
    }
  }

  @unsafe private func count(_ run: SimulationRun, _ outcome: RunOutcome) {
    unsafe state.done += 1
    unsafe state.bursts += outcome.counts.bursts
    unsafe state.frames += outcome.counts.frames
    unsafe state.virtual += outcome.virtual
    if let violation = outcome.violation {
      unsafe state.failed += 1
      let isNew = unsafe !state.failures.contains {
        $0.violation.invariant == violation.invariant && $0.run.mix.name == run.mix.name
      }
      context.tell("\(violation.invariant): \(run.command)")
      if isNew, unsafe state.failures.count < Self.reportLimit {
        unsafe state.failures.append((run, violation))
      }
    }
    let spent = Int(Self.seconds() - began)
    guard unsafe spent >= state.told + 10 else { return }
    unsafe state.told = spent
    unsafe context.tell(
      "\(spent) s: \(state.done) seeds, \(state.bursts) bursts, \(state.failed) failed")
  }

  private func tell(_ run: SimulationRun) {
    let small = run.items == nil ? run.shrunk() : run
    context.print("")
    for line in small.report(traceLines: plan.traceLines) ?? [
      "\(run.command): not broken when run again"
    ] {
      context.print(line)
    }
    if small.items != run.items { context.print("whole run: \(run.command)") }
    context.print("")
  }
}
