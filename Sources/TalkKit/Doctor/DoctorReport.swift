/// How a check of the doctor came out.
public enum DoctorVerdict: String, Codable, Hashable, Sendable, CaseIterable {
  /// As it should be.
  case ok
  /// Talking works, or may work; something should be looked at.
  case warning
  /// Something that talking needs does not work.
  case failed
  /// Not looked at; what was found says why.
  case skipped
}

/// What one check of the doctor found.
public struct DoctorFinding: Codable, Hashable, Sendable {
  /// Which check: a word that scripts may rely on, of `DoctorCheck`.
  public var id: String
  /// The check's name for people.
  public var title: String
  /// How it came out.
  public var verdict: DoctorVerdict
  /// What was found, in one line; text of others in it is escaped.
  public var found: String
  /// What to do, one command or one sentence; null unless the verdict is warning or failed.
  @Nullable public var cure: String?
  /// The figures behind it, by name.
  public var facts: [String: String]

  /// A finding of its parts.
  public init(
    id: String, title: String, verdict: DoctorVerdict, found: String, cure: String? = nil,
    facts: [String: String] = [:]
  ) {
    self.id = id
    self.title = title
    self.verdict = verdict
    self.found = found
    self.cure = cure
    self.facts = facts
  }
}

/// Something that `doctor --fix` has tried.
public struct DoctorFix: Codable, Hashable, Sendable {
  /// The check that it is for.
  public var id: String
  /// What was done, in one line; or why it could not be done.
  public var did: String
  /// True when it was done.
  public var worked: Bool

  /// A fix of its parts.
  public init(id: String, did: String, worked: Bool) {
    self.id = id
    self.did = did
    self.worked = worked
  }
}

/// What `talkaround doctor --json` prints, version 1; keys are only ever added.
public struct DoctorReport: Codable, Hashable, Sendable {
  /// The version of this layout: 1.
  public var v: Int
  /// The version of the program that looked.
  public var version: String
  /// The state directory that was looked at.
  public var state: String
  /// True when a node of that state answers.
  public var running: Bool
  /// How many checks failed.
  public var failed: Int
  /// How many warn.
  public var warnings: Int
  /// What each check found, in the order in which one thing rests on another.
  public var checks: [DoctorFinding]
  /// What `--fix` has tried before these checks were made.
  public var fixes: [DoctorFix]

  /// A report of its parts.
  public init(
    state: String, running: Bool, checks: [DoctorFinding], fixes: [DoctorFix] = []
  ) {
    v = 1
    version = TalkaroundVersion.text
    self.state = state
    self.running = running
    failed = checks.count { $0.verdict == .failed }
    warnings = checks.count { $0.verdict == .warning }
    self.checks = checks
    self.fixes = fixes
  }

  /// The checks as people read them: what is well first, what failed last.
  public var byUrgency: [DoctorFinding] {
    let order: [[DoctorVerdict]] = [[.ok, .skipped], [.warning], [.failed]]
    return order.flatMap { verdicts in checks.filter { verdicts.contains($0.verdict) } }
  }
}
