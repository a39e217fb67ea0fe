import TalkCore

/// Judges facts: the same facts always give the same findings.
///
/// Drive it so: `DoctorJudge(facts).findings`. The checks are in `+State`, `+Network`, `+Sound` and
/// `+People`. A check whose `needs` failed is skipped, so that one fault is told once.
package struct DoctorJudge {
  let facts: DoctorFacts
  private(set) var opinions: [DoctorCheck: DoctorOpinion] = [:]

  /// Judges all facts.
  package init(_ facts: DoctorFacts) {
    self.facts = facts
    for check in DoctorCheck.allCases where check != .peer || facts.wanted != nil {
      opinions[check] = blocked(check) ?? opinion(on: check)
    }
  }

  /// What each check found, in the order of the checks.
  package var findings: [DoctorFinding] {
    DoctorCheck.allCases.compactMap { check in
      guard let opinion = opinions[check] else { return nil }
      return DoctorFinding(
        id: check.rawValue, title: check.title, verdict: opinion.verdict, found: opinion.found,
        cure: opinion.cure, facts: opinion.facts)
    }
  }

  /// A skip, when what the check needs is not well: it failed, or was skipped itself.
  private func blocked(_ check: DoctorCheck) -> DoctorOpinion? {
    guard let need = check.needs, let opinion = opinions[need] else { return nil }
    switch opinion.verdict {
    case .ok, .warning: return nil
    case .failed: return .skipped("needs: \(need.title)")
    case .skipped: return .skipped(opinion.found)
    }
  }

  /// True when a check that came before failed.
  func hasFailed(_ check: DoctorCheck) -> Bool { opinions[check]?.verdict == .failed }

  private func opinion(on check: DoctorCheck) -> DoctorOpinion {
    switch check {
    case .version: version
    case .clock: clock
    case .state: state
    case .disk: disk
    case .identity: identity
    case .node: node
    case .port: port
    case .dbus: dbus
    case .avahi: avahi
    case .network: network
    case .vpn: vpn
    case .multicast: multicast
    case .peers: peers
    case .unicast: unicast
    case .soundServer: soundServer
    case .microphone: microphone
    case .microphoneVolume: microphoneVolume
    case .microphoneSignal: microphoneSignal
    case .loudspeaker: loudspeaker
    case .loudspeakerVolume: loudspeakerVolume
    case .linger: linger
    case .admins: admins
    case .names: names
    case .peer: peer
    }
  }

  /// A name of somebody's, fit to be shown.
  static func shown(_ name: String) -> String { SafeText.escaped(SafeText.cut(name, to: 64)) }

  /// A word for a shell, in quotes where it needs them.
  static func quoted(_ word: String) -> String {
    let plain = word.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII
        && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
          || "/._-+:@%,=".unicodeScalars.contains(scalar))
    }
    if plain, !word.isEmpty { return word }
    return "'" + word.replacing("'", with: "'\\''") + "'"
  }
}
