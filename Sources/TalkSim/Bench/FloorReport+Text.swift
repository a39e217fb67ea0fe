import TalkCore

/// The report as a table for a terminal, 100 columns wide.
extension FloorReport {
  /// The lines of the table.
  package var lines: [String] {
    let intro = [
      "The floor, ours beside 3GPP TS 24.380 off-network: \(nodes) nodes, \(seeds) seeds from "
        + "\(firstSeed), the same for both.",
      "Times in ms. access: press to grant on an idle floor, 50 and 99 %. next: hand-over to a",
      "queued talker. over: an emergency over the talker. free/then: a dead talker shown free,",
      "the next one speaks. overlap: bursts beside another talker in reach, and the longest.",
      "late: late entry. up: letting go to the key taken for up. lost: frames from permit to release not rendered.",
      "open: presses without a grant. ctl: control messages to all/to one, a burst. ×: times real",
      "time on one core.",
      "",
    ]
    return intro + [Self.head] + rows.flatMap(Self.lines) + [""] + scaleLines + [""] + verdict
  }

  private static let widths = [8, 12, 6, 6, 11, 12, 6, 6, 7, 6, 9, 6]

  private static func line(_ cells: [String]) -> String {
    zip(cells, widths).map { cell, width in pad(cell, width) }.joined()
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - text.count, 1)) + text
  }

  private static let head = line([
    "", "access 50/99", "next", "over", "free/then", "overlap", "late", "up", "lost", "open",
    "ctl", "×",
  ])

  private static func lines(of row: Row) -> [String] {
    ["\(row.name): \(row.note)"] + [cells("24.380", row.baseline), cells("ours", row.ours)]
      + row.targets.map { target in
        let value = target.value(in: row.ours).map { number($0) } ?? "no sample"
        let sign = target.isFloor ? "≥" : "≤"
        let verdict = target.isMet(by: row.ours) ? "met" : "MISSED"
        return "          \(target.measure.rawValue) \(sign) \(number(target.limit)): "
          + "\(value) \(verdict)"
      }
  }

  private static func cells(_ name: String, _ figures: FloorFigures) -> String {
    func pair(_ left: Duration?, _ right: Duration?) -> String {
      left == nil && right == nil ? "-" : "\(time(left))/\(time(right))"
    }
    let overlap = figures.overlapPercent.map {
      "\(number($0))% \(time(figures.longestOverlap))"
    }
    return line([
      name, pair(figures.access.percentile(0.5), figures.access.percentile(0.99)),
      time(figures.handOver.percentile(0.99)), time(figures.preemption.percentile(0.99)),
      pair(figures.crashToFree.longest, figures.crashToNext.longest), overlap ?? "-",
      time(figures.lateEntry.percentile(0.99)), time(figures.release.longest),
      figures.framesLostPercent.map { "\(number($0))%" } ?? "-", String(figures.unservedPresses),
      "\(number(figures.groupSendsPerBurst ?? 0))/\(number(figures.singleSendsPerBurst ?? 0))",
      figures.speed.map { number($0.rounded()) } ?? "-",
    ])
  }

  private static func time(_ duration: Duration?) -> String {
    duration.map { number($0.milliseconds) } ?? "-"
  }

  /// With one digit behind the point below ten, none above.
  static func number(_ value: Double) -> String {
    let tenths = (value * 10).rounded() / 10
    if tenths == tenths.rounded() || tenths.magnitude >= 10 { return String(Int(value.rounded())) }
    return String(tenths)
  }

  private var scaleLines: [String] {
    let rows = scale.map { step in
      func sends(_ figures: FloorFigures) -> String {
        "\(Self.number(figures.groupSendsPerBurst ?? 0)) to all, "
          + "\(Self.number(figures.singleSendsPerBurst ?? 0)) to one"
      }
      return "\(Self.pad(String(step.nodes), 6)) nodes: 24.380 \(sends(step.baseline)); ours "
        + sends(step.ours)
    }
    let verdict = isFlat ? "met" : "MISSED"
    return ["Control messages a burst, heartbeats apart"] + rows + [
      "          to all, growth ≤ \(Self.number(Self.groupSendsGrowth)): \(verdict)"
    ]
  }

  private var verdict: [String] {
    let missed = rows.filter { !$0.isMet }.map(\.name) + (isFlat ? [] : ["control traffic"])
    guard !missed.isEmpty else { return ["Ours reaches every target."] }
    return ["Ours misses a target in: \(missed.joined(separator: "; "))"]
  }
}
