import TalkCore
import TalkCrypto
import TalkFloor

/// What came of a run.
package struct RunOutcome: Sendable {
  /// The first violation.
  package var violation: Violation?
  /// What was counted.
  package var counts: Judge.Counts
  /// The fold of all that happened.
  package var hash: UInt64
  /// How much virtual time passed.
  package var virtual: Duration
  /// How many events the world handled.
  package var events: Int
  /// The last lines before the end, when they were asked for.
  package var trace: [String]
}

/// One run of parties through a script under a judge: repeatable bit for bit from its seed.
package struct FloorRun<Party: FloorParty>: Sendable {
  /// Which seed.
  package var seed: UInt64
  /// Which mix of faults.
  package var mix: FaultMix
  /// What is done; drawn from the seed unless it was shrunk.
  package var script: Script
  /// The one invariant that is judged; nil for all.
  package var only: String?

  /// A run of `bursts` presses with as many nodes as the mix draws, or with `nodes`.
  package init(
    seed: UInt64, mix: FaultMix, bursts: Int = 40, nodes: Int? = nil, only: String? = nil
  ) {
    self.seed = seed
    self.mix = mix
    self.only = only
    script = Script(mix, seed: seed, bursts: bursts, nodes: nodes)
  }

  /// Runs; with `traceLines` above 0 it also keeps that many last lines of what happened.
  package func run(traceLines: Int = 0) -> RunOutcome {
    let membership = Membership(count: script.nodes, mix: mix, seed: seed)
    let liars = min(mix.liars, script.nodes - 1)
    let conditions = RunConditions(
      mix: mix, count: script.nodes, timers: FloorTimers(), rights: membership.rights,
      liars: (0..<script.nodes).map { $0 >= script.nodes - liars },
      index: PeerIndex(membership.identities.map(\.publicIdentity.peerID)))
    var world = FloorWorld<Party, Judge>(
      script: script, mix: mix, seed: seed, sink: Judge(conditions, only: only),
      trace: traceLines > 0 ? TraceRing(limit: traceLines) : nil)
    let start = world.now
    world.run()
    world.sink.finish(at: world.now)
    return RunOutcome(
      violation: world.sink.violation, counts: world.sink.counts, hash: world.sink.hash.value,
      virtual: world.now - start, events: world.events, trace: world.trace?.text ?? [])
  }
}
