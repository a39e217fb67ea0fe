import Foundation
import Glibc
import Testing

@testable import TalkCLI
@testable import TalkKit

@Suite struct DoctorCommandTests {
  private func doctor(_ fixture: CommandTests.Fixture, _ options: String...) throws -> Program {
    try fixture.program(["doctor"] + options)
  }

  @Test func `the report says what the JSON says, and replaces nothing but a report`() throws {
    let fixture = try CommandTests.Fixture()
    let file = "\(fixture.scratch.path)/report.txt"
    let program = try doctor(fixture, "--json", "--report", file)
    let code = program.end()
    let bytes = Array(program.output.utf8)
    let report = try #require(JSONLine.decode(DoctorReport.self, bytes), "\(program.errors)")
    #expect(code == (report.failed > 0 ? 69 : 0))
    #expect(report.v == 1 && report.running && report.checks.count == 23)
    #expect(program.errors == "wrote the report to \(file)\n")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(mode(file) == 0o600)
    for finding in report.checks { #expect(text.contains("\n\(DoctorText.line(finding))\n")) }
    #expect(text.contains("anna a0000000  port 41717") && !text.contains(Sample.anna))
    let again = try doctor(fixture, "--report", file)
    #expect(again.end() == code && again.errors == "replaced the report \(file)\n")
  }

  struct Refused: Sendable {
    let options: [String]
    let code: Int32
    let message: String

    static let all = [
      Refused(options: ["--report", "mine.txt"], code: 64, message: "no report of the doctor's"),
      Refused(options: ["--report", "link"], code: 64, message: "no report of the doctor's"),
      Refused(options: ["--report", "."], code: 64, message: "no report of the doctor's"),
      Refused(options: ["--report", "no/file"], code: 64, message: "there is no folder no"),
      Refused(options: ["--report="], code: 64, message: "--report"),
      Refused(options: ["--with="], code: 64, message: "--with"),
      Refused(options: ["--wiht", "ben"], code: 64, message: "--with"),
      Refused(options: ["ben"], code: 64, message: "takes no argument 'ben'"),
    ]
  }

  @Test(arguments: Refused.all)
  func `a mistake is told before anything is looked at`(_ refused: Refused) throws {
    let scratch = Scratch()
    let file = "\(scratch.path)/mine.txt"
    try "precious\n".write(toFile: file, atomically: false, encoding: .utf8)
    symlink("nowhere", "\(scratch.path)/link")
    let program = try Program(
      ["doctor"] + refused.options, state: scratch.path, folder: scratch.path)
    #expect(program.end() == refused.code)
    #expect(program.errors.contains(refused.message), "\(program.errors)")
    #expect(program.errors.split(separator: "\n").count == 1 && program.output.isEmpty)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious\n")
  }

  @Test func `what failed comes last, with its cure, and the sum follows`() {
    let checks = [
      DoctorFinding(id: "a", title: "A", verdict: .failed, found: "bad\u{1b}", cure: "mend"),
      DoctorFinding(id: "b", title: "B", verdict: .ok, found: "fine"),
      DoctorFinding(id: "c", title: "C", verdict: .warning, found: "odd", cure: "look"),
      DoctorFinding(id: "d", title: "D", verdict: .skipped, found: "needs: A"),
    ]
    let fixes = [
      DoctorFix(id: "c", did: "unmuted mic", worked: true),
      DoctorFix(id: "a", did: "not done: started x: no", worked: false),
    ]
    let report = DoctorReport(state: "/s", running: false, checks: checks, fixes: fixes)
    #expect(
      DoctorText.lines(report) == [
        "fixed    unmuted mic", "         not done: started x: no", "ok       B: fine",
        "skipped  D: needs: A", "warning  C: odd → look", "FAILED   A: bad\\u{1b} → mend",
        "1 failed, 1 warning.",
      ])
    let well = DoctorReport(state: "/s", running: false, checks: [checks[1]])
    #expect(DoctorText.lines(well).last == "All is well.")
  }

  @Test func `the JSON has exactly the keys of version 1`() {
    let report = DoctorReport(
      state: "/s", running: true,
      checks: [
        DoctorFinding(
          id: "port", title: "UDP port", verdict: .ok, found: "free", facts: ["port": "41717"])
      ], fixes: [DoctorFix(id: "state", did: "x", worked: true)])
    let json = String(decoding: JSONLine.encode(report), as: UTF8.self)
    #expect(
      json == """
        {"checks":[{"cure":null,"facts":{"port":"41717"},"found":"free","id":"port",\
        "title":"UDP port","verdict":"ok"}],"failed":0,"fixes":[{"did":"x","id":"state",\
        "worked":true}],"running":true,"state":"/s","v":1,\
        "version":"\(TalkaroundVersion.text)","warnings":0}
        """)
  }
}
