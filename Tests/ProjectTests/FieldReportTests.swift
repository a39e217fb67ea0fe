import Foundation
import Testing

/// The article on what failed people elsewhere names real tests, and every case of the list.
@Suite struct FieldReportTests {
  private static let article = "Sources/TalkKit/TalkKit.docc/FieldReports.md"

  /// The cases under Discovery, Join, Audio devices, Suspend, Files.
  private static let cases = [
    "A1", "A2", "A3", "A4", "A7", "A8", "A9", "A11", "A12", "A13", "A14", "A15", "A17", "A18",
    "A19", "A20", "A21", "A22", "A23", "B2", "B3", "B4", "B7", "B8", "B9", "D1", "D3", "D4", "D6",
    "D7", "D10", "D11", "D12", "E2", "E3", "E4", "E6", "F1", "F3", "F5", "F6",
  ]

  private struct Row {
    let id: String
    let tried: String

    /// What stands between backticks.
    var names: [String] {
      tried.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    var isReason: Bool { tried.hasPrefix("Not tried") || tried.hasPrefix("Not needed") }
  }

  private static func rows() throws -> [Row] {
    let text = try String(
      contentsOf: SourceTree.top.appending(path: article), encoding: .utf8)
    return text.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3, cells[0].first?.isUppercase == true,
        cells[0].dropFirst().allSatisfy(\.isNumber)
      else { return nil }
      return Row(id: cells[0], tried: cells[2])
    }
  }

  @Test func everyCaseIsThereOnceAndNoOther() throws {
    #expect(try Self.rows().map(\.id) == Self.cases)
  }

  @Test func everyTestThatIsNamedExists() throws {
    let tests = SourceTree.files.filter { $0.path.hasPrefix("Tests/") && $0.isSwift }
      .map { $0.lines.joined(separator: "\n") }.joined(separator: "\n")
    for row in try Self.rows() where !row.isReason {
      #expect(!row.names.isEmpty, "\(row.id) names no test and gives no reason")
      for name in row.names {
        let forms = ["func \(name)(", "func `\(name)`", "@Test(\"\(name)\"", "\n    \"\(name)\","]
        #expect(forms.contains { tests.contains($0) }, "\(row.id): no test is called '\(name)'")
      }
    }
  }

  @Test func aReasonIsASentence() throws {
    for row in try Self.rows() where row.isReason {
      #expect(row.tried.count > 60 && row.tried.hasSuffix("."), "\(row.id): say why")
    }
  }
}
