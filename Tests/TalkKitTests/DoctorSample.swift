import TalkAudio
import TalkNet

@testable import TalkKit

/// Facts of a host on which all is well: a node runs, ben is here. Tests spoil one thing of it.
extension DoctorFacts {
  static var healthy: DoctorFacts {
    var facts = DoctorFacts()
    facts.clock = Clock(now: 1_800_000_000, newestFile: 1_790_000_000, newestPath: "/state/boot")
    facts.state.path = "/state"
    facts.state.freeBytes = 1 << 30
    facts.state.nickname = "anna"
    facts.state.lockHolder = 4_711
    facts.node = .answers(Sample.report())
    facts.ports = [PortUse(port: 41_717, process: 4_711, program: "talkaround", isNode: true)]
    facts.network.interfaces = [
      Interface(name: "lo", index: 1, kind: .loopback),
      Interface(name: "wlan0", index: 2, kind: .usual, isWireless: true),
    ]
    facts.network.addresses = ["lo": ["127.0.0.1"], "wlan0": ["192.168.1.20"]]
    facts.network.defaultInterface = "wlan0"
    facts.air.links = [Air.LinkProbe(name: "wlan0", heardIPv4: true, heardIPv6: true)]
    facts.sound.server = "/run/user/1000/pulse/native"
    facts.sound.devices = [
      device(.source, "mic"), device(.source, "speaker.monitor", isDefault: false, isMonitor: true),
      device(.sink, "speaker"),
    ]
    facts.sound.capture = "pulse:mic"
    facts.sound.playback = "pulse:speaker"
    facts.sound.signal = .level(AudioLevel(samples: 24_000, peak: 1_000, decibels: -42))
    facts.channels = [
      Channel(name: "crew", members: 2, admins: ["a0000000", "b0000000"], isAdmin: true)
    ]
    return facts
  }

  /// The same without a node.
  static var withoutNode: DoctorFacts {
    var facts = healthy
    facts.node = .none
    facts.ports = []
    facts.state.lockHolder = nil
    facts.sound.capture = "pulse"
    facts.sound.playback = "pulse"
    facts.air.callers = ["192.168.1.21:41717"]
    return facts
  }

  /// The same before anything was ever done.
  static var fresh: DoctorFacts {
    var facts = withoutNode
    facts.state.isThere = false
    facts.state.nickname = nil
    facts.channels = []
    facts.air.callers = []
    return facts
  }

  static func device(
    _ direction: AudioDeviceInfo.Direction, _ name: String, isDefault: Bool = true,
    isMonitor: Bool = false
  ) -> AudioDeviceInfo {
    AudioDeviceInfo(
      direction: direction, name: name, description: "The \(name)", isDefault: isDefault,
      isMonitor: isMonitor, volume: 100, isMuted: false)
  }

  /// Changes what the node says of itself.
  mutating func changeStatus(_ change: (inout StatusReport) -> Void) {
    guard case .answers(var status) = node else { return }
    change(&status)
    node = .answers(status)
  }

  /// Changes the one member.
  mutating func changeMember(_ change: (inout MemberStatus) -> Void) {
    changeStatus { change(&$0.channels[0].members[0]) }
  }

  /// Lets the one member be away, silent for so many milliseconds.
  mutating func sendAway(silent: Int? = 60_000) {
    changeMember {
      $0.state = .away
      $0.hearsMe = false
      $0.iHear = false
      $0.silentMilliseconds = silent
    }
  }
}
