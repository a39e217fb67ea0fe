import Foundation
import TalkCore
import TalkSim
import Testing

/// The bench of the floor in its short form: its shape, and that ours beats the baseline.
@Suite struct BenchFloorTests {
  private static let report = FloorBench(seeds: 1, isQuick: true).run(
    spent: { nil }, progress: { _ in })

  private func milliseconds(_ duration: Duration?) -> Double { duration?.milliseconds ?? .infinity }

  @Test func everyScenarioHasBurstsOfBothMachinesAndSamplesForItsTargets() {
    let rows = Self.report.rows
    #expect(rows.map(\.name).count == Set(rows.map(\.name)).count)
    #expect(rows.count == FloorScenario.all.count)
    for row in rows {
      #expect(row.ours.bursts > 0 && row.baseline.bursts > 0, "\(row.name)")
      // A person whose press still waits does not press again, and where key edges are lost,
      // chance decides which press the node learns of.
      if !row.name.contains("%"), row.name != "lost key edge" {
        #expect(row.ours.presses == row.baseline.presses, "the same presses: \(row.name)")
      }
      #expect(!row.targets.isEmpty, "\(row.name)")
      for target in row.targets {
        #expect(target.value(in: row.ours) != nil, "\(row.name): \(target.measure.rawValue)")
      }
    }
    #expect(Self.report.scale.map(\.nodes) == [2, 3, 10, 33])
  }

  @Test func oursGrantsSoonerThanTheBaseline() {
    for row in Self.report.rows where row.ours.access.count > 0 {
      let ours = milliseconds(row.ours.access.percentile(0.5))
      let baseline = milliseconds(row.baseline.access.percentile(0.5))
      #expect(ours < baseline / 2, "\(row.name)")
    }
  }

  @Test func theBaselineTakesASilentFloorAfterThreeTimes40Milliseconds() {
    for row in Self.report.rows where row.name.hasPrefix("queued") || row.name == "no loss" {
      #expect(row.baseline.access.percentile(0.5) == .milliseconds(120), "\(row.name)")
    }
  }

  @Test func oursNeverOverlapsMoreThanTheBaselineAndFarLessAfterAPartition() throws {
    for row in Self.report.rows {
      #expect(
        row.ours.longestOverlap <= max(row.baseline.longestOverlap, .milliseconds(60)),
        "\(row.name)")
    }
    let partition = try #require(Self.report.rows.first { $0.name == "after a partition" })
    #expect(partition.baseline.longestOverlap > .seconds(1))
    #expect(partition.ours.longestOverlap <= .milliseconds(60))
  }

  @Test func aRunRepeatsBitForBit() throws {
    let again = FloorBench(seeds: 1, isQuick: true).run(spent: { nil }, progress: { _ in })
    #expect(try json(again) == json(Self.report))
  }

  @Test func theJSONHasItsVersionAndBothMachinesInEachRow() throws {
    let object = try #require(
      JSONSerialization.jsonObject(with: json(Self.report)) as? [String: Any])
    #expect(object["v"] as? Int == 1)
    #expect(object["bench"] as? String == "floor")
    #expect(object["quick"] as? Bool == true)
    let rows = try #require(object["scenarios"] as? [[String: Any]])
    #expect(rows.count == Self.report.rows.count)
    for row in rows {
      for machine in ["ours", "baseline"] {
        let figures = try #require(row[machine] as? [String: Any])
        let access = try #require(figures["access_ms"] as? [String: Any])
        #expect(access.keys.contains("count"))
      }
      let targets = try #require(row["targets"] as? [[String: Any]])
      #expect(targets.allSatisfy { $0["met"] is Bool && $0["limit"] is Double })
    }
  }

  @Test func aMissedTargetIsSaidAndEndsTheBenchAsMissed() throws {
    var report = Self.report
    #expect(report.rows[0].targets[0].isMet(by: report.rows[0].ours))
    report.rows[0].targets[0].limit = 0
    #expect(!report.isMet)
    #expect(report.lines.contains { $0.hasSuffix("MISSED") })
    #expect(report.lines.last?.contains(report.rows[0].name) == true)
  }

  private func json(_ report: FloorReport) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(report)
  }
}
