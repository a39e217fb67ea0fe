import Foundation
import Testing

/// What `talkaround doctor --json` says.
struct DoctorFindings: Decodable, Sendable {
  struct Check: Decodable, Sendable {
    let id: String
    let title: String
    let verdict: String
    let found: String
    let cure: String?
  }

  struct Fix: Decodable, Sendable {
    let id: String
    let did: String
    let worked: Bool
  }

  let v: Int
  let running: Bool
  let failed: Int
  let warnings: Int
  let checks: [Check]
  let fixes: [Fix]

  /// What is not well, by id.
  var ills: [String: String] {
    let ills = checks.filter { $0.verdict == "failed" || $0.verdict == "warning" }
    return Dictionary(uniqueKeysWithValues: ills.map { ($0.id, $0.verdict) })
  }

  subscript(id: String) -> Check? { checks.first { $0.id == id } }

  /// The line that people read of a check.
  static func line(_ check: Check) -> String {
    let words = [
      "ok": "ok      ", "skipped": "skipped ", "warning": "warning ", "failed": "FAILED  ",
    ]
    return "\(words[check.verdict] ?? "?") \(check.title): \(check.found)"
      + (check.cure.map { " → \($0)" } ?? "")
  }
}

/// A doctor at work on a host: its JSON, and the text of the same run from its report.
struct DoctorRun {
  private let child: ChildProcess
  private let home: String
  private let report: String
  private let began = Lab.now()

  /// Starts `doctor` on a host, for the state directory that `Node` uses. `around` are words before
  /// the program, such as env and its own.
  init(_ lab: Lab, _ host: String, _ options: [String] = [], around: [String] = []) throws {
    home = lab.home(host)
    report = "\(home)/report-\(UUID().uuidString)"
    child = try lab.start(
      host,
      around + [
        try Requirements.talkaround(), "--state", "\(home)/talkaround", "doctor", "--json",
        "--report", report,
      ] + options)
  }

  /// Waits for it: what it found, its exit code, and how long it took at most. Its text must say
  /// the same as its JSON.
  func end() throws -> (findings: DoctorFindings, code: Int32, seconds: Double) {
    let output = try child.wait(seconds: 30)
    let seconds = Lab.now() - began
    guard let findings = try? JSONDecoder().decode(DoctorFindings.self, from: Data(output.out.utf8))
    else { throw LabError("doctor: \(output.code) \(output.out) \(output.err)") }
    let text = try String(contentsOfFile: report, encoding: .utf8)
    for check in findings.checks {
      // A report says ~ for the home.
      let line = DoctorFindings.line(check).replacing(home, with: "~")
      #expect(text.contains("\n\(line)\n"), "not in the report: \(line)")
    }
    return (findings, output.code, seconds)
  }
}
