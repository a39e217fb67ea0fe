import TalkKit

/// A doctor's report as lines for people.
enum DoctorText {
  /// What was mended, the checks with what failed last, and the sum.
  static func lines(_ report: DoctorReport) -> [String] {
    let fixes = report.fixes.map { fix in
      fix.worked ? "fixed    \(DisplayText.line(fix.did))" : "         \(DisplayText.line(fix.did))"
    }
    return fixes + report.byUrgency.map(line) + [sum(report)]
  }

  /// One check: its verdict, its name, what was found, and the cure.
  static func line(_ finding: DoctorFinding) -> String {
    let cure = finding.cure.map { " → \(DisplayText.line($0))" } ?? ""
    return "\(word(finding.verdict)) \(DisplayText.line(finding.title)): "
      + "\(DisplayText.line(finding.found))\(cure)"
  }

  private static func word(_ verdict: DoctorVerdict) -> String {
    switch verdict {
    case .ok: "ok      "
    case .skipped: "skipped "
    case .warning: "warning "
    case .failed: "FAILED  "
    }
  }

  private static func sum(_ report: DoctorReport) -> String {
    if report.failed == 0, report.warnings == 0 { return "All is well." }
    let warnings = "\(report.warnings) \(report.warnings == 1 ? "warning" : "warnings")"
    return report.failed == 0
      ? "Nothing failed, \(warnings)." : "\(report.failed) failed, \(warnings)."
  }
}
