import FoundationEssentials
import Glibc

/// Looks at everything that talking needs, with or without a node that runs, before a channel
/// exists too, and names what is wrong with its cure.
///
/// Drive it so: `Doctor(state:…).examine(…)`, on a thread that may wait: it takes some two seconds,
/// five where a daemon does not answer. It changes nothing, and disturbs no node.
public struct Doctor: Sendable {
  /// What was found, and the node's own state with it.
  public struct Examination: Sendable {
    /// The checks.
    public var report: DoctorReport
    /// The state of the node, where one answers.
    public var status: StatusReport?
  }

  /// How often is looked for more to mend.
  private static let rounds = 3

  private let state: String?
  private let environment: [String: String]
  private let peer: String?

  /// A doctor for the node of a state directory (nil: the default one). `environment` stands for
  /// the process's; `peer` is the name, or the first digits of the id, of a member to look at
  /// closely.
  public init(
    state: String? = nil, environment: [String: String]? = nil, peer: String? = nil
  ) {
    self.state = state
    self.environment = environment ?? ProcessInfo.processInfo.environment
    self.peer = peer
  }

  /// Looks at everything. With `fixing`, mends first what can be mended safely and taken back, and
  /// looks again. `progress` gets a few words when something takes long.
  public func examine(
    fixing: Bool = false, progress: @escaping (String) -> Void = { _ in }
  ) -> Examination {
    var facts = gather(progress)
    var mender = DoctorMender()
    // What is mended may show what lay behind it: a microphone that is muted, behind a monitor.
    for _ in 0..<(fixing ? Self.rounds : 0) {
      guard mender.mend(facts) else { break }
      progress("looking again")
      facts = gather(progress)
    }
    let report = DoctorReport(
      state: facts.state.path, running: facts.node.status != nil,
      checks: DoctorJudge(facts).findings, fixes: mender.fixes)
    return Examination(report: report, status: facts.node.status)
  }

  private func gather(_ progress: @escaping (String) -> Void) -> DoctorFacts {
    DoctorGatherer(state: state, environment: environment, wanted: peer, progress: progress)
      .gather()
  }
}
