import TalkAudio
import TalkNet

@testable import TalkKit

extension DoctorJudgeTests.Case {
  static let sound: [Self] = [
    Self(
      name: "no socket", spoil: { $0.sound.connection = .noSocket }, check: .soundServer,
      verdict: .failed, found: "there is no /run/user/1000/pulse/native", cure: "systemctl --user"),
    Self(
      name: "connection refused", spoil: { $0.sound.connection = .refused }, check: .soundServer,
      verdict: .failed, found: "nobody answers at /run/user/1000/pulse/native", cure: "restart"),
    Self(
      name: "no permission", spoil: { $0.sound.connection = .denied }, check: .soundServer,
      verdict: .failed, found: "no permission", cure: "not as root"),
    Self(
      name: "a server that hangs", spoil: { $0.sound.connection = .silent },
      check: .soundServer, verdict: .failed, found: "does not answer", cure: "restart"),
    Self(
      name: "no XDG_RUNTIME_DIR", spoil: { $0.sound.connection = .noRuntimeFolder },
      check: .soundServer, verdict: .failed, found: "XDG_RUNTIME_DIR is not set", cure: "export"),
    Self(
      name: "a node without sound",
      spoil: {
        ($0.sound.capture, $0.sound.playback) = ("null", "null")
        $0.sound.connection = .noSocket
      }, check: .soundServer, verdict: .skipped, found: "the node uses null, null"),
    Self(
      name: "no microphone", spoil: { $0.sound.devices.removeFirst() }, check: .microphone,
      verdict: .failed, found: "no microphone", cure: "plug one in"),
    Self(
      name: "the chosen microphone is not there",
      spoil: { $0.sound.capture = "pulse:usb" }, check: .microphone, verdict: .failed,
      found: "pulse:usb is not there", cure: "pactl set-default-source mic"),
    Self(
      name: "a monitor is the microphone", base: .withoutNode,
      spoil: {
        $0.sound.devices[0].isDefault = false
        $0.sound.devices[1].isDefault = true
      }, check: .microphone, verdict: .failed, found: "speaker.monitor is chosen",
      cure: "pactl set-default-source mic"),
    Self(
      name: "a muted microphone", spoil: { $0.sound.devices[0].isMuted = true },
      check: .microphoneVolume, verdict: .failed, found: "muted",
      cure: "pactl set-source-mute mic 0"),
    Self(
      name: "volume 0", spoil: { $0.sound.devices[0].volume = 0 }, check: .microphoneVolume,
      verdict: .failed, found: "is 0", cure: "pactl set-source-volume mic 80%"),
    Self(
      name: "volume 4", spoil: { $0.sound.devices[0].volume = 4 }, check: .microphoneVolume,
      verdict: .warning, found: "is 4 %", cure: "80%"),
    Self(
      name: "digital silence",
      spoil: { $0.sound.signal = .level(AudioLevel([Int16](repeating: 0, count: 24_000))) },
      check: .microphoneSignal, verdict: .warning, found: "not the least noise", cure: "switch"),
    Self(
      name: "the least noise is no silence",
      spoil: { $0.sound.signal = .level(AudioLevel([0, 0, -1, 0])) }, check: .microphoneSignal,
      verdict: .ok, found: "-96 dB"),
    Self(
      name: "a microphone that gives nothing", spoil: { $0.sound.signal = .failed("no sound") },
      check: .microphoneSignal, verdict: .failed, found: "no sound", cure: "plug it in again"),
    Self(
      name: "no loudspeaker", spoil: { $0.sound.devices.removeLast() }, check: .loudspeaker,
      verdict: .failed, found: "no loudspeaker", cure: "plug"),
    Self(
      name: "the dummy output is none",
      spoil: {
        $0.sound.devices[2].name = "auto_null"
        $0.sound.playback = "pulse:auto_null"
      }, check: .loudspeaker, verdict: .failed, found: "no loudspeaker", cure: "plug"),
    Self(
      name: "a muted loudspeaker", spoil: { $0.sound.devices[2].isMuted = true },
      check: .loudspeakerVolume, verdict: .failed, found: "muted",
      cure: "pactl set-sink-mute speaker 0"),
  ]

  static let people: [Self] = [
    Self(
      name: "no linger on a machine without a screen",
      spoil: {
        ($0.login.hasSystemd, $0.login.isUnitEnabled) = (true, true)
        $0.login.user = "anna"
      }, check: .linger, verdict: .warning, found: "ends when you log out",
      cure: "loginctl enable-linger anna"),
    Self(
      name: "linger",
      spoil: {
        ($0.login.hasSystemd, $0.login.isUnitEnabled, $0.login.lingers) =
          (true, true, true)
      }, check: .linger, verdict: .ok, found: "without a login"),
    Self(
      name: "a screen needs no linger",
      spoil: {
        ($0.login.hasSystemd, $0.login.isUnitEnabled, $0.login.hasScreen) = (true, true, true)
      }, check: .linger, verdict: .ok, found: "when you log in"),
    Self(
      name: "we are the only admin", spoil: { $0.channels[0].admins = ["a0000000"] },
      check: .admins, verdict: .warning, found: "you are the only admin of crew",
      cure: "members set PEER"),
    Self(
      name: "ben is the only admin",
      spoil: {
        $0.channels[0].admins = ["b0000000"]
        $0.channels[0].isAdmin = false
      }, check: .admins, verdict: .warning, found: "ben is the only admin of crew",
      cure: "members set PEER"),
    Self(
      name: "our name is another's too", spoil: { $0.changeMember { $0.name = "Anna\u{200b}" } },
      check: .names, verdict: .warning, found: "another member is called Anna", cure: "--name"),
    Self(
      name: "a member that hears and is heard",
      spoil: {
        $0.wanted = "ben"
        $0.changeMember { $0.endpoint = "10.0.0.2:41717" }
      }, check: .peer, verdict: .ok,
      found: "ben hears you and you hear it at 10.0.0.2:41717, round trip 0.4 ms, loses 0 %"),
    Self(
      name: "a member that loses much",
      spoil: {
        $0.wanted = "b0"
        $0.changeMember { $0.lossTo = 0.25 }
      }, check: .peer, verdict: .warning, found: "loses 25 %, you lose 0 %", cure: "cable"),
    Self(
      name: "a member that is not here",
      spoil: {
        $0.wanted = "ben"
        $0.sendAway()
      }, check: .peer, verdict: .failed, found: "ben is not heard", cure: "hotspot",
      also: [.peers: .warning]),
    Self(
      name: "a member that nobody knows", spoil: { $0.wanted = "carl" }, check: .peer,
      verdict: .failed, found: "no member is called carl", cure: "name one of: ben (b0000000)"),
    Self(
      name: "a member, and no node", base: .withoutNode, spoil: { $0.wanted = "ben" },
      check: .peer, verdict: .failed, found: "no node runs", cure: "talkaround run"),
  ]
}
