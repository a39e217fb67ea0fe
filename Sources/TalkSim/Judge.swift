package import TalkCore
import TalkFloor
import TalkWire

/// Watches every invariant over one run, counts what happened, and folds all of it into one number
/// that tells two runs apart. Stops at the first violation.
package struct Judge: ObservationSink {
  /// What was counted.
  package struct Counts: Hashable, Sendable {
    /// Bursts that started.
    package var bursts = 0
    /// Presses that the nodes saw.
    package var presses = 0
    /// Frames that arrived.
    package var frames = 0
    /// Control messages to all, heartbeats left out.
    package var groupSends = 0
    /// Control messages to one.
    package var singleSends = 0
    /// Observations.
    package var observations = 0
  }

  /// The first violation.
  package private(set) var violation: Violation?
  /// The counts.
  package private(set) var counts = Counts()
  /// The fold of all observations.
  package private(set) var hash = StreamHash()
  private var truth: GroundTruth
  private let only: String?

  private var s1: OneTalkerChecker
  private var s2: OverTokenChecker
  private var s3: OverlapChecker
  private var s4: TwoHoldersChecker
  private var s5: MayTransmitChecker
  private var s6: OneGrantChecker
  private var s7: RisingTurnsChecker
  private var s8: LeaseChecker
  private var s9: HeardChecker
  private var s10: AuthorityChecker
  private var s11: FadeChecker
  private var l1: IdleGrantChecker
  private var l2: SuccessorChecker
  private var l3: EndingRequestChecker
  private var l4: OneViewChecker
  private var l5: FairnessChecker
  private var a1: DeliveryChecker
  private var a2: StopsInTimeChecker
  private var c1: ControlChecker

  /// The names of all invariants, in floor.md's order.
  package static let invariants = [
    "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "L1", "L2", "L3", "L4",
    "L5", "A1", "A2", "C1",
  ]

  /// A judge of a run; of one invariant alone when `only` names it.
  package init(_ conditions: RunConditions, only: String? = nil) {
    truth = GroundTruth(conditions)
    self.only = only
    s1 = OneTalkerChecker(conditions)
    s2 = OverTokenChecker(conditions)
    s3 = OverlapChecker(conditions)
    s4 = TwoHoldersChecker(conditions)
    s5 = MayTransmitChecker(conditions)
    s6 = OneGrantChecker(conditions)
    s7 = RisingTurnsChecker(conditions)
    s8 = LeaseChecker(conditions)
    s9 = HeardChecker(conditions)
    s10 = AuthorityChecker(conditions)
    s11 = FadeChecker(conditions)
    l1 = IdleGrantChecker(conditions)
    l2 = SuccessorChecker(conditions)
    l3 = EndingRequestChecker(conditions)
    l4 = OneViewChecker(conditions)
    l5 = FairnessChecker(conditions)
    a1 = DeliveryChecker(conditions)
    a2 = StopsInTimeChecker(conditions)
    c1 = ControlChecker(conditions)
  }

  /// True after a violation.
  package var isSatisfied: Bool { violation != nil }

  /// Looks at what happens.
  package mutating func take(_ seen: Observation) {
    guard violation == nil else { return }
    hash.fold(seen)
    count(seen)
    // What a lying node does is no fault of the floor's; what others do about it is.
    var found: (invariant: String, text: String)?
    Self.ask(&s1, seen, truth, only, &found)
    Self.ask(&s2, seen, truth, only, &found)
    Self.ask(&s3, seen, truth, only, &found)
    Self.ask(&s4, seen, truth, only, &found)
    Self.ask(&s5, seen, truth, only, &found)
    Self.ask(&s6, seen, truth, only, &found)
    Self.ask(&s7, seen, truth, only, &found)
    Self.ask(&s8, seen, truth, only, &found)
    Self.ask(&s9, seen, truth, only, &found)
    Self.ask(&s10, seen, truth, only, &found)
    Self.ask(&s11, seen, truth, only, &found)
    Self.ask(&l1, seen, truth, only, &found)
    Self.ask(&l2, seen, truth, only, &found)
    Self.ask(&l3, seen, truth, only, &found)
    Self.ask(&l4, seen, truth, only, &found)
    Self.ask(&l5, seen, truth, only, &found)
    Self.ask(&a1, seen, truth, only, &found)
    Self.ask(&a2, seen, truth, only, &found)
    Self.ask(&c1, seen, truth, only, &found)
    if let found { blame(found, seen.at, seen.node) }
    truth.follow(seen)
  }

  /// The run is over: judges it as a whole.
  package mutating func finish(at now: Instant) {
    if let text = l5.finish(truth) { blame((FairnessChecker.invariant, text), now, 0) }
    if let text = c1.finish(truth) { blame((ControlChecker.invariant, text), now, 0) }
  }

  @inline(__always)
  private static func ask<Checker: FloorChecker>(
    _ checker: inout Checker, _ seen: Observation, _ truth: GroundTruth,
    _ only: String?, _ found: inout (invariant: String, text: String)?
  ) {
    guard let text = checker.observe(seen, truth), found == nil,
      only == nil || only == Checker.invariant
    else { return }
    found = (Checker.invariant, text)
  }

  private mutating func blame(
    _ found: (invariant: String, text: String), _ at: Instant, _ node: Int
  ) {
    guard violation == nil, only == nil || only == found.invariant else { return }
    violation = Violation(
      invariant: found.invariant, at: at, node: node, text: found.text)
  }

  private mutating func count(_ seen: Observation) {
    counts.observations += 1
    switch seen.what {
    case .heard: counts.frames += 1
    case .started: counts.bursts += 1
    case .pressed: counts.presses += 1
    case .sent(let note, let toAll) where note.kind != .heartbeat:
      if toAll { counts.groupSends += 1 } else { counts.singleSends += 1 }
    default: break
    }
  }
}
