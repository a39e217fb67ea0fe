import FoundationEssentials
import Glibc
import TalkAudio

/// Mends what is safe to mend and can be taken back: modes of state files, a daemon that is not
/// running, a device that is muted, turned down or wrongly chosen, linger. It asks nobody: where
/// the system does not let us, it says so.
///
/// Drive it so: `mend` facts, gather them anew, and again until it says that nothing was mended.
struct DoctorMender {
  /// One thing to do.
  enum Job: Hashable {
    /// Take a file or folder away from others.
    case closeToOthers(path: String)
    /// Start or restart a unit of the system's.
    case unit(verb: String, name: String)
    /// Change a device.
    case audio(AudioChange)
    /// Let the user's units go on without a login.
    case linger(user: String)
  }

  /// The volume that what was turned down gets, in percent.
  private static let volume = 80

  /// What was done so far, and what could not be.
  private(set) var fixes: [DoctorFix] = []
  private var tried: Set<Job> = []
  private var facts = DoctorFacts()

  /// Does what there is to do and was not tried yet; false when nothing was mended.
  mutating func mend(_ facts: DoctorFacts) -> Bool {
    var isMended = false
    for (check, job) in jobs(facts) where tried.insert(job).inserted {
      let fix = perform(job, for: check)
      fixes.append(fix)
      isMended = isMended || fix.worked
    }
    return isMended
  }

  /// What there is to do, by the findings alone.
  mutating func jobs(_ facts: DoctorFacts) -> [(check: DoctorCheck, job: Job)] {
    self.facts = facts
    let findings = DoctorJudge(facts).findings
    func isIll(_ check: DoctorCheck) -> Bool {
      findings.contains {
        $0.id == check.rawValue && ($0.verdict == .failed || $0.verdict == .warning)
      }
    }
    var jobs: [(check: DoctorCheck, job: Job)] = []
    for path in facts.state.faults.compactMap(\.loosePath) {
      jobs.append((.state, .closeToOthers(path: path)))
    }
    if isIll(.dbus) { jobs.append((.dbus, .unit(verb: "start", name: "dbus"))) }
    if isIll(.avahi), facts.avahi.isInstalled {
      let verb = facts.avahi.daemon == .absent ? "start" : "restart"
      jobs.append((.avahi, .unit(verb: verb, name: "avahi-daemon")))
    }
    if isIll(.microphone), let real = microphone {
      jobs.append((.microphone, .audio(.defaultSource(name: real.name))))
    }
    if isIll(.microphoneVolume), let chosen = chosen(.source, facts.sound.capture) {
      jobs += changes(chosen).map { (.microphoneVolume, .audio($0)) }
    }
    if isIll(.loudspeakerVolume), let chosen = chosen(.sink, facts.sound.playback) {
      jobs += changes(chosen).map { (.loudspeakerVolume, .audio($0)) }
    }
    if isIll(.linger) { jobs.append((.linger, .linger(user: facts.login.user))) }
    return jobs
  }

  /// The one microphone that there is, when a monitor is the default instead: with several it is
  /// the person's choice.
  private var microphone: AudioDeviceInfo? {
    let real = facts.sound.devices.filter { $0.direction == .source && !$0.isMonitor }
    guard facts.sound.capture == "pulse", real.count == 1 else { return nil }
    return real.first
  }

  private func chosen(
    _ direction: AudioDeviceInfo.Direction, _ wanted: String
  ) -> AudioDeviceInfo? {
    facts.sound.devices.first {
      $0.direction == direction && (wanted == "pulse" ? $0.isDefault : wanted == "pulse:\($0.name)")
    }
  }

  private func changes(_ device: AudioDeviceInfo) -> [AudioChange] {
    var changes: [AudioChange] = []
    if device.isMuted { changes.append(.unmute(device.direction, name: device.name)) }
    if device.volume < 5 {
      changes.append(.volume(device.direction, name: device.name, percent: Self.volume))
    }
    return changes
  }

  // MARK: Doing

  private func perform(_ job: Job, for check: DoctorCheck) -> DoctorFix {
    let (did, failure): (String, String?) =
      switch job {
      case .closeToOthers(let path):
        ("took \(path) away from others (chmod go=)", Self.closeToOthers(path))
      case .unit(let verb, let name):
        (
          "\(verb)ed \(name)",
          facts.login.hasSystemd
            ? Self.run(["systemctl", "--no-ask-password", verb, name])
            : "systemd does not run here"
        )
      case .audio(let change): (Self.words(change), Self.change(change))
      case .linger(let user):
        (
          "let \(user)'s units run without a login (loginctl disable-linger takes it back)",
          Self.run(["loginctl", "--no-ask-password", "enable-linger", user])
        )
      }
    guard let failure else { return DoctorFix(id: check.rawValue, did: did, worked: true) }
    return DoctorFix(id: check.rawValue, did: "not done: \(did): \(failure)", worked: false)
  }

  private static func words(_ change: AudioChange) -> String {
    switch change {
    case .unmute(_, let name): "unmuted \(DoctorJudge.shown(name))"
    case .volume(_, let name, let percent): "set \(DoctorJudge.shown(name)) to \(percent) %"
    case .defaultSource(let name): "made \(DoctorJudge.shown(name)) the default microphone"
    }
  }

  private static func change(_ change: AudioChange) -> String? {
    do throws(AudioFault) {
      try change.perform()
      return nil
    } catch {
      return error.description
    }
  }

  /// Takes all rights of group and others away (fchmod(2)), of the very thing that is there: a link
  /// is not followed.
  static func closeToOthers(_ path: String) -> String? {
    let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { return SystemText.of(errno) }
    defer { close(number) }
    var info = stat()
    guard unsafe fstat(number, &info) == 0 else { return SystemText.of(errno) }
    guard info.st_uid == geteuid() else { return "it is another user's" }
    return fchmod(number, info.st_mode & 0o700) == 0 ? nil : SystemText.of(errno)
  }

  /// Runs a program of the system's for at most ten seconds; its last words when it fails.
  private static func run(_ words: [String]) -> String? {
    guard let ended = ChildProgram.run(words) else {
      return "\(words[0]) can't be started, or did not end within ten seconds"
    }
    guard ended.code != 0 else { return nil }
    let text = ended.output.split(separator: "\n").last.map(String.init)
    return DoctorJudge.shown(text ?? "\(words[0]) ended with \(ended.code)")
  }
}
