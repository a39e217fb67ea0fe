import TalkAudio
import TalkCore
import TalkNet
import TalkNode

/// Moves samples between the devices and the node, and starts and stops the devices.
extension Shell {
  /// Watches both devices.
  func connectSound() throws {
    let (capture, playback) = (sound.capture, sound.playback)
    try loop.add(fd: capture.wake.descriptor) { [unowned self] in self.pumpCapture(capture) }
    try loop.add(fd: playback.wake.descriptor) { [unowned self] in self.pumpPlayback() }
    try loop.add(fd: capture.events.wake.descriptor) { [unowned self] in
      self.follow(capture.events, .capture)
    }
    try loop.add(fd: playback.events.wake.descriptor) { [unowned self] in
      self.follow(playback.events, .playback)
    }
    noteFaults()
  }

  /// Tells the node what it can speak into and play on.
  private func noteFaults() {
    node.hasMicrophone = sound.capture.fault == nil
    node.hasSpeaker = sound.playback.fault == nil
  }

  /// Takes what the microphone, or the file that is spoken, has captured.
  func pumpCapture(_ device: any CaptureDevice) {
    device.wake.drain()
    let count = unsafe device.ring.read(into: sound.buffer)
    guard count > 0, device === activeCapture else { return }
    input { step in
      unsafe self.node.captured(
        UnsafeBufferPointer(rebasing: self.sound.buffer[..<count]), step)
    }
    tellLevel(now: step.now)
  }

  /// The device whose samples are our voice now.
  var activeCapture: any CaptureDevice {
    speech.map { $0.device as any CaptureDevice } ?? sound.capture
  }

  /// Fills the loudspeaker as far as it wants.
  func pumpPlayback() {
    sound.playback.wake.drain()
    let now = BootClock.now()
    while case let wanted = sound.playback.wanted, wanted > 0 {
      let quantum = unsafe UnsafeMutableBufferPointer(
        rebasing: sound.buffer[..<min(wanted, Sound.quantum)])
      let isVoice = parrot?.isHearing == true && node.wantsPlayback
      unsafe node.render(into: quantum, now: now)
      if isVoice { unsafe parrot?.hear(UnsafeBufferPointer(quantum)) }
      unsafe sound.playback.write(UnsafeBufferPointer(quantum))
    }
    followDevices()
    tellLevel(now: now)
    armTimer()
  }

  /// Starts and stops the devices as the node wants them.
  func followDevices() {
    let wantsMicrophone = node.wantsCapture && speech == nil
    if wantsMicrophone != sound.isCapturing {
      sound.isCapturing = wantsMicrophone
      if wantsMicrophone { sound.capture.start() } else { sound.capture.stop() }
    }
    if let speech { startIfGranted(speech) }
    let now = step.now
    if node.wantsPlayback {
      sound.deadline = nil
      if !sound.isPlaying {
        sound.isPlaying = true
        sound.playback.start()
      }
    } else if sound.isPlaying {
      let end = sound.deadline ?? now + Sound.playbackRest
      sound.deadline = end
      if BootClock.now() >= end {
        sound.isPlaying = false
        sound.deadline = nil
        sound.playback.stop()
      }
    }
    if parrot != nil { answerAsParrot() }
  }

  /// Says what became of a device, once per change.
  private func follow(_ events: AudioEvents, _ direction: DeviceEvent.Direction) {
    while let event = events.next() {
      switch event {
      case .ready(let device):
        Log.line("\(direction.rawValue): \(device)")
        publish(
          .device(DeviceEvent(direction: direction, state: .running, device: device)))
      case .lost(let fault):
        Log.error("\(direction.rawValue): \(fault)")
        publish(
          .device(
            DeviceEvent(
              direction: direction, state: .lost, device: nil, reason: fault.reason)))
      case .ended: break
      }
    }
    noteFaults()
  }
}

extension AudioFault {
  /// The reason in the closed list.
  var reason: Reason {
    switch self {
    case .noServer: .noSoundServer
    case .noMicrophone, .monitorRefused: .noMicrophone
    case .noSpeaker: .noSpeaker
    case .streamRefused, .noResources: .noSoundServer
    case .unreadableFile, .unwritableFile, .emptyFile, .cutShort: .badFile
    }
  }
}
