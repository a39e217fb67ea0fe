import TalkAudio

/// The sound server, the microphone, and the loudspeaker.
extension DoctorJudge {
  /// The quietest volume that is heard, in percent.
  private static let faint = 5

  /// True where the node uses the sound server for this.
  private func isPulse(_ device: String) -> Bool { device == "pulse" || device.hasPrefix("pulse:") }

  var soundServer: DoctorOpinion {
    let sound = facts.sound
    guard isPulse(sound.capture) || isPulse(sound.playback) else {
      return .skipped("the node uses \(Self.shown(sound.capture)), \(Self.shown(sound.playback))")
    }
    let place = Self.shown(sound.server)
    let start = "systemctl --user restart pulseaudio (or pipewire-pulse)"
    switch sound.connection {
    case .answering:
      return .ok(place.isEmpty ? "answers" : "answers at \(place)", ["server": place])
    case .noRuntimeFolder:
      return .failed(
        "XDG_RUNTIME_DIR is not set, so the sound server can't be found",
        cure: "log in properly (not by su or sudo), or: export XDG_RUNTIME_DIR=/run/user/$(id -u)")
    case .noSocket:
      return .failed("no sound server: there is no \(place)", cure: start, ["server": place])
    case .refused:
      return .failed("no sound server: nobody answers at \(place)", cure: start, ["server": place])
    case .denied:
      return .failed(
        "no permission for the sound server at \(place)",
        cure: "run talkaround as the user who is logged in, not as root or a system unit",
        ["server": place])
    case .silent:
      return .failed("the sound server at \(place) does not answer", cure: start, ["server": place])
    case .failed(let reason):
      return .failed("the sound server at \(place): \(Self.shown(reason))", cure: start)
    }
  }

  // MARK: Microphone

  /// The device that a `pulse` or `pulse:NAME` means.
  private func device(
    _ direction: AudioDeviceInfo.Direction, _ wanted: String
  ) -> AudioDeviceInfo? {
    let devices = facts.sound.devices.filter { $0.direction == direction }
    guard wanted.hasPrefix("pulse:") else { return devices.first(where: \.isDefault) }
    let name = wanted.dropFirst("pulse:".count)
    return devices.first { $0.name == name }
  }

  /// Sources that are microphones: no monitors, and not what the server makes for want of a card.
  private var microphones: [AudioDeviceInfo] {
    facts.sound.devices.filter { $0.direction == .source && !$0.isMonitor && !Self.isDummy($0) }
  }

  private var loudspeakers: [AudioDeviceInfo] {
    facts.sound.devices.filter { $0.direction == .sink && !Self.isDummy($0) }
  }

  /// True for "Dummy Output", which stands where there is no card.
  private static func isDummy(_ device: AudioDeviceInfo) -> Bool {
    device.name == "auto_null" || device.name == "auto_null.monitor"
  }

  var microphone: DoctorOpinion {
    let sound = facts.sound
    guard isPulse(sound.capture) else {
      return .skipped("the node uses \(Self.shown(sound.capture))")
    }
    guard let first = microphones.first else {
      return .failed(
        "no microphone",
        cure: "plug one in; choose its profile in pavucontrol, or look: "
          + "pactl list short sources")
    }
    guard let chosen = device(.source, sound.capture) else {
      return .failed(
        "\(Self.shown(sound.capture)) is not there",
        cure: "plug it in, or choose another: pactl set-default-source \(Self.quoted(first.name))")
    }
    guard !chosen.isMonitor, !Self.isDummy(chosen) else {
      return .failed(
        "\(Self.shown(chosen.name)) is chosen: that is what the loudspeaker plays, no microphone",
        cure: "pactl set-default-source \(Self.quoted(first.name))", ["source": chosen.name])
    }
    return .ok(Self.shown(chosen.description), ["source": chosen.name])
  }

  var microphoneVolume: DoctorOpinion {
    guard let chosen = device(.source, facts.sound.capture) else {
      return .skipped("no microphone")
    }
    return volume(of: chosen, "source", what: "the microphone")
  }

  var microphoneSignal: DoctorOpinion {
    switch facts.sound.signal {
    case .none: return .skipped("not listened to")
    case .failed(let reason):
      return .failed(
        "the microphone gives nothing: \(Self.shown(reason))",
        cure: "plug it in again, or restart the sound server: systemctl --user restart pulseaudio")
    case .level(let level):
      let decibels = "\(Int(level.decibels.rounded()))"
      let facts = ["level_db": decibels, "peak": "\(level.peak)", "samples": "\(level.samples)"]
      guard !level.isDigitalSilence else {
        return .warning(
          "not the least noise in half a second: it is switched off, or not the one you speak into",
          cure: "check the switch or key that mutes it, or choose another in pavucontrol", facts)
      }
      return .ok("\(decibels) dB", facts)
    }
  }

  // MARK: Loudspeaker

  var loudspeaker: DoctorOpinion {
    let sound = facts.sound
    guard isPulse(sound.playback) else {
      return .skipped("the node uses \(Self.shown(sound.playback))")
    }
    guard let first = loudspeakers.first else {
      return .failed(
        "no loudspeaker",
        cure: "plug one or a headset in; choose its profile in pavucontrol, or "
          + "look: pactl list short sinks")
    }
    guard let chosen = device(.sink, sound.playback), !Self.isDummy(chosen) else {
      return .failed(
        "\(Self.shown(sound.playback)) is not there",
        cure: "plug it in, or choose another: pactl set-default-sink \(Self.quoted(first.name))")
    }
    return .ok(Self.shown(chosen.description), ["sink": chosen.name])
  }

  var loudspeakerVolume: DoctorOpinion {
    guard let chosen = device(.sink, facts.sound.playback) else {
      return .skipped("no loudspeaker")
    }
    return volume(of: chosen, "sink", what: "the loudspeaker")
  }

  private func volume(
    of device: AudioDeviceInfo, _ kind: String, what: String
  ) -> DoctorOpinion {
    let name = Self.quoted(device.name)
    let facts = ["volume": "\(device.volume)", "muted": "\(device.isMuted)", kind: device.name]
    if device.isMuted {
      return .failed("\(what) is muted", cure: "pactl set-\(kind)-mute \(name) 0", facts)
    }
    guard device.volume > 0 else {
      return .failed("\(what)'s volume is 0", cure: "pactl set-\(kind)-volume \(name) 80%", facts)
    }
    guard device.volume >= Self.faint else {
      return .warning(
        "\(what)'s volume is \(device.volume) %", cure: "pactl set-\(kind)-volume \(name) 80%",
        facts)
    }
    return .ok("\(device.volume) %", facts)
  }
}
