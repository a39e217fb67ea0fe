import TalkCore

/// The report as JSON, version 1; keys are only ever added. Times are in milliseconds, null where
/// the scenario gave no sample.
extension FloorReport: Encodable {
  private enum Key: String, CodingKey {
    case v, bench, seeds, nodes, quick, scenarios, scale, met
    case firstSeed = "first_seed"
    case scaleIsFlat = "scale_is_flat"
  }

  /// Writes the whole report.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(1, forKey: .v)
    try container.encode("floor", forKey: .bench)
    try container.encode(seeds, forKey: .seeds)
    try container.encode(firstSeed, forKey: .firstSeed)
    try container.encode(nodes, forKey: .nodes)
    try container.encode(isQuick, forKey: .quick)
    try container.encode(rows, forKey: .scenarios)
    try container.encode(scale, forKey: .scale)
    try container.encode(isFlat, forKey: .scaleIsFlat)
    try container.encode(isMet, forKey: .met)
  }
}

extension FloorReport.Row: Encodable {
  private enum Key: String, CodingKey {
    case name, note, ours, baseline, targets, met
  }

  private struct Verdict: Encodable {
    let measure: String
    let limit: Double
    let ours: Double?
    let baseline: Double?
    let met: Bool
  }

  /// Writes the row with a verdict for each target.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: .name)
    try container.encode(note, forKey: .note)
    try container.encode(ours, forKey: .ours)
    try container.encode(baseline, forKey: .baseline)
    let verdicts = targets.map { target in
      Verdict(
        measure: target.measure.rawValue, limit: target.limit, ours: target.value(in: ours),
        baseline: target.value(in: baseline), met: target.isMet(by: ours))
    }
    try container.encode(verdicts, forKey: .targets)
    try container.encode(isMet, forKey: .met)
  }
}

extension FloorReport.Scale: Encodable {
  private enum Key: String, CodingKey { case nodes, ours, baseline }

  /// Writes the step.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(nodes, forKey: .nodes)
    try container.encode(ours, forKey: .ours)
    try container.encode(baseline, forKey: .baseline)
  }
}

extension FloorFigures: Encodable {
  private enum Key: String, CodingKey {
    case presses, bursts, speed
    case access = "access_ms"
    case handOver = "hand_over_ms"
    case preemption = "over_talker_ms"
    case crashToFree = "crash_to_free_ms"
    case crashToNext = "crash_to_next_ms"
    case lateEntry = "late_entry_ms"
    case release = "let_go_to_key_up_ms"
    case unserved = "unserved_presses"
    case overlapped = "overlapped_bursts"
    case overlapPercent = "overlap_percent"
    case longestOverlap = "longest_overlap_ms"
    case framesDue = "frames_due"
    case framesLost = "frames_lost"
    case groupSends = "group_sends_per_burst"
    case singleSends = "single_sends_per_burst"
    case simulated = "simulated_ms"
  }

  /// Writes every figure.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(presses, forKey: .presses)
    try container.encode(unservedPresses, forKey: .unserved)
    try container.encode(bursts, forKey: .bursts)
    try container.encode(access, forKey: .access)
    try container.encode(handOver, forKey: .handOver)
    try container.encode(preemption, forKey: .preemption)
    try container.encode(crashToFree, forKey: .crashToFree)
    try container.encode(crashToNext, forKey: .crashToNext)
    try container.encode(lateEntry, forKey: .lateEntry)
    try container.encode(release, forKey: .release)
    try container.encode(overlappedBursts, forKey: .overlapped)
    try container.encode(overlapPercent, forKey: .overlapPercent)
    try container.encode(longestOverlap.milliseconds, forKey: .longestOverlap)
    try container.encode(framesDue, forKey: .framesDue)
    try container.encode(framesLost, forKey: .framesLost)
    try container.encode(groupSendsPerBurst, forKey: .groupSends)
    try container.encode(singleSendsPerBurst, forKey: .singleSends)
    try container.encode(simulated.milliseconds, forKey: .simulated)
    try container.encode(speed, forKey: .speed)
  }
}

extension Distribution: Encodable {
  private enum Key: String, CodingKey { case count, p50, p99, max }

  /// Writes how many samples there are, the median, the 99th percentile and the largest.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(count, forKey: .count)
    try container.encode(percentile(0.5)?.milliseconds, forKey: .p50)
    try container.encode(percentile(0.99)?.milliseconds, forKey: .p99)
    try container.encode(longest?.milliseconds, forKey: .max)
  }
}
