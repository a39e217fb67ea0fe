import TalkCore

/// A figure that ours must reach in a scenario (targets.md, "Floor").
package struct FloorTarget: Sendable {
  /// What is measured.
  package enum Measure: String, Sendable, CaseIterable {
    /// Press to grant on an idle floor, the median.
    case accessP50 = "access p50"
    /// The same, the 99th percentile.
    case accessP99 = "access p99"
    /// The gap between two talkers when one was queued.
    case handOverP99 = "hand-over p99"
    /// Press to grant of a class above the talker's.
    case preemptionP99 = "over the talker p99"
    /// The longest from a talker's death to the floor shown free.
    case crashToFree = "crash to free"
    /// The longest from a talker's death to the next queued talker.
    case crashToNext = "crash to next"
    /// The longest overlap of two talkers in reach.
    case overlap = "overlap"
    /// Session to the first frame heard.
    case lateEntryP99 = "late entry p99"
    /// The longest from letting go to the node's taking the key for up.
    case release = "let go to key up"
    /// Frames from permit to release that a listener in reach did not render.
    case framesLost = "frames lost"
    /// Simulated time over processor time.
    case speed = "speed"
  }

  /// What is measured.
  package var measure: Measure
  /// In milliseconds, frames, or times real time.
  package var limit: Double
  /// True when the figure must be at least the limit.
  package var isFloor: Bool { measure == .speed }

  static func accessP50(_ limit: Double) -> Self { Self(measure: .accessP50, limit: limit) }
  static func accessP99(_ limit: Double) -> Self { Self(measure: .accessP99, limit: limit) }
  static func handOverP99(_ limit: Double) -> Self { Self(measure: .handOverP99, limit: limit) }
  static func preemptionP99(_ limit: Double) -> Self {
    Self(measure: .preemptionP99, limit: limit)
  }
  static func crashToFree(_ limit: Double) -> Self { Self(measure: .crashToFree, limit: limit) }
  static func crashToNext(_ limit: Double) -> Self { Self(measure: .crashToNext, limit: limit) }
  static func overlap(_ limit: Double) -> Self { Self(measure: .overlap, limit: limit) }
  static func lateEntryP99(_ limit: Double) -> Self { Self(measure: .lateEntryP99, limit: limit) }
  static func release(_ limit: Double) -> Self { Self(measure: .release, limit: limit) }
  static func framesLost(_ limit: Double) -> Self { Self(measure: .framesLost, limit: limit) }
  static func speed(_ limit: Double) -> Self { Self(measure: .speed, limit: limit) }

  /// The figure of this measure; nil when the scenario gave no sample of it, which fails a target.
  package func value(in figures: FloorFigures) -> Double? {
    switch measure {
    case .accessP50: figures.access.percentile(0.5)?.milliseconds
    case .accessP99: figures.access.percentile(0.99)?.milliseconds
    case .handOverP99: figures.handOver.percentile(0.99)?.milliseconds
    case .preemptionP99: figures.preemption.percentile(0.99)?.milliseconds
    case .crashToFree: figures.crashToFree.longest?.milliseconds
    case .crashToNext: figures.crashToNext.longest?.milliseconds
    case .overlap: figures.bursts > 0 ? figures.longestOverlap.milliseconds : nil
    case .lateEntryP99: figures.lateEntry.percentile(0.99)?.milliseconds
    case .release: figures.release.longest?.milliseconds
    case .framesLost: figures.framesDue > 0 ? Double(figures.framesLost) : nil
    case .speed: figures.speed
    }
  }

  /// True when ours reaches it.
  package func isMet(by figures: FloorFigures) -> Bool {
    guard let value = value(in: figures) else { return false }
    return isFloor ? value >= limit : value <= limit
  }
}

extension FloorFigures {
  /// Simulated time over processor time; nil when no clock was there.
  package var speed: Double? {
    spent > .zero ? simulated.milliseconds / spent.milliseconds : nil
  }
}
