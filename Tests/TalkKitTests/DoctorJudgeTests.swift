import TalkAudio
import TalkNet
import Testing

@testable import TalkKit

@Suite struct DoctorJudgeTests {
  /// What is spoilt on a healthy host, and what is then said.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    /// From which facts it starts.
    var base: DoctorFacts = .healthy
    let spoil: @Sendable (inout DoctorFacts) -> Void
    let check: DoctorCheck
    let verdict: DoctorVerdict
    /// What was found, in part.
    let found: String
    /// The cure, in part.
    var cure = ""
    /// Other checks that are not well either.
    var also: [DoctorCheck: DoctorVerdict] = [:]

    var testDescription: String { name }
  }

  static let healthy: [(String, DoctorFacts)] = [
    ("with a node and a member", .healthy), ("without a node", .withoutNode),
    ("before the first start", .fresh),
  ]

  @Test(arguments: healthy)
  func `nothing is alarmed where all is well`(_ name: String, _ facts: DoctorFacts) {
    let findings = DoctorJudge(facts).findings
    #expect(findings.map(\.id) == DoctorCheck.allCases.filter { $0 != .peer }.map(\.rawValue))
    for finding in findings {
      #expect(finding.verdict == .ok || finding.verdict == .skipped, "\(finding)")
      #expect(finding.cure == nil)
    }
  }

  @Test(arguments: Case.files + Case.node + Case.network + Case.sound + Case.people)
  func `one thing that is spoilt is found with its cure, and nothing else`(_ test: Case) throws {
    var facts = test.base
    test.spoil(&facts)
    let findings = DoctorJudge(facts).findings
    let finding = try #require(findings.first { $0.id == test.check.rawValue })
    #expect(finding.verdict == test.verdict, "\(finding)")
    #expect(finding.found.contains(test.found), "\(finding.found)")
    #expect(test.cure.isEmpty || finding.cure?.contains(test.cure) == true, "\(finding)")
    #expect((finding.cure != nil) == (test.verdict == .warning || test.verdict == .failed))
    for other in findings where other.id != finding.id {
      let check = try #require(DoctorCheck(rawValue: other.id))
      let isIll = other.verdict == .warning || other.verdict == .failed
      #expect(isIll ? test.also[check] == other.verdict : test.also[check] == nil, "\(other)")
    }
    #expect(!findings.contains { $0.found.contains("\n") || ($0.cure ?? "").contains("\n") })
  }

  @Test func `what rests on a failed check is skipped and names it`() {
    var facts = DoctorFacts.healthy
    facts.sound.connection = .noSocket
    facts.bus = .absent("/bus")
    facts.network.interfaces = []
    let findings = DoctorJudge(facts).findings
    #expect(
      findings.filter { $0.verdict == .failed }.map(\.id) == ["dbus", "network", "sound-server"])
    for (need, checks) in [
      ("D-Bus", ["avahi"]), ("Network", ["vpn", "multicast", "peers", "unicast"]),
      (
        "Sound server",
        [
          "microphone", "microphone-volume", "microphone-signal", "loudspeaker",
          "loudspeaker-volume",
        ]
      ),
    ] {
      for check in checks {
        let finding = findings.first { $0.id == check }
        #expect(finding?.verdict == .skipped && finding?.found == "needs: \(need)", "\(check)")
      }
    }
  }

  @Test func `names of others cannot move a cursor`() {
    var facts = DoctorFacts.healthy
    facts.wanted = "b0000000"
    facts.changeMember { $0.name = "\u{1b}[2Jben\u{202e}" }
    let finding = DoctorJudge(facts).findings.last
    #expect(finding?.found.hasPrefix("\\u{1b}[2Jben\\u{202e} hears you") == true)
  }

  @Test func `a word for a shell is quoted where it must be`() {
    #expect(DoctorJudge.quoted("alsa_input.usb-0:1") == "alsa_input.usb-0:1")
    #expect(DoctorJudge.quoted("a b;c") == "'a b;c'")
    #expect(DoctorJudge.quoted("it's") == "'it'\\''s'")
    #expect(DoctorJudge.quoted("") == "''")
  }
}
