import TalkCore

/// What `talkaround bench floor` found: the figures of both machines, row by row, and whether ours
/// reached its targets.
package struct FloorReport: Sendable {
  /// One scenario.
  package struct Row: Sendable {
    /// Its name.
    package var name: String
    /// What happened in it.
    package var note: String
    /// Our floor.
    package var ours: FloorFigures
    /// The off-network floor of 3GPP.
    package var baseline: FloorFigures
    /// What ours must reach.
    package var targets: [FloorTarget]

    /// True when ours reached all of it.
    package var isMet: Bool { targets.allSatisfy { $0.isMet(by: ours) } }
  }

  /// Control traffic at one number of nodes.
  package struct Scale: Sendable {
    /// How many nodes.
    package var nodes: Int
    /// Our floor.
    package var ours: FloorFigures
    /// The off-network floor of 3GPP.
    package var baseline: FloorFigures
  }

  /// How many seeds each row had.
  package var seeds: Int
  /// The first of them.
  package var firstSeed: UInt64
  /// How many nodes the rows have.
  package var nodes: Int
  /// True for the short form.
  package var isQuick: Bool
  /// The scenarios.
  package var rows: [Row]
  /// The same bursts at growing numbers of nodes.
  package var scale: [Scale]

  /// Control to all, for each burst, may grow by this much from the smallest mesh to the largest:
  /// O(1) group sends (invariant C1).
  package static let groupSendsGrowth = 2.0

  /// True when the control traffic of ours stays flat.
  package var isFlat: Bool {
    let sends = scale.compactMap(\.ours.groupSendsPerBurst)
    guard sends.count == scale.count, let least = sends.min(), let most = sends.max() else {
      return false
    }
    return most - least <= Self.groupSendsGrowth
  }

  /// True when ours reached every target.
  package var isMet: Bool { rows.allSatisfy(\.isMet) && isFlat }
}

extension FloorFigures {
  /// Control messages to all, for each burst; nil without bursts.
  package var groupSendsPerBurst: Double? {
    bursts > 0 ? Double(groupSends) / Double(bursts) : nil
  }

  /// Control messages to one, for each burst; nil without bursts.
  package var singleSendsPerBurst: Double? {
    bursts > 0 ? Double(singleSends) / Double(bursts) : nil
  }

  /// Of the frames that were due, how many in a hundred were not rendered.
  package var framesLostPercent: Double? {
    framesDue > 0 ? 100 * Double(framesLost) / Double(framesDue) : nil
  }

  /// Of the bursts, how many in a hundred overlapped.
  package var overlapPercent: Double? {
    bursts > 0 ? 100 * Double(overlappedBursts) / Double(bursts) : nil
  }
}
