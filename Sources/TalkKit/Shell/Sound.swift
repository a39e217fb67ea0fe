import TalkAudio
import TalkCore

/// The node's microphone and loudspeaker, whatever they are.
@safe final class Sound {
  /// How long the loudspeaker goes on after the last sound: bursts that follow at once need no new
  /// start, and what is under way is heard.
  static let playbackRest = Duration.milliseconds(400)
  /// The most that is rendered at a time: 10 ms.
  static let quantum = 480

  let capture: any CaptureDevice
  let playback: any PlaybackDevice
  private let pulse: PulseAudio?
  let buffer: UnsafeMutableBufferPointer<Int16>
  var isCapturing = false
  var isPlaying = false
  /// When the loudspeaker stops, since nothing is to be heard.
  var deadline: Instant?

  /// Opens what `--capture` and `--playback` name.
  init(capture: String, playback: String) throws(NodeServiceError) {
    do {
      let (source, sink) = (Self.pulseDevice(capture), Self.pulseDevice(playback))
      let pulse =
        source == nil && sink == nil
        ? nil : try PulseAudio(source: source ?? nil, sink: sink ?? nil)
      self.pulse = pulse
      if source != nil, let pulse {
        self.capture = pulse.capture
      } else {
        self.capture =
          capture == "null" ? try NullCapture() : try WaveFileCapture(path: capture)
      }
      if sink != nil, let pulse {
        self.playback = pulse.playback
      } else {
        self.playback =
          playback == "null" ? try NullPlayback() : try WaveFilePlayback(path: playback)
      }
    } catch {
      throw .unavailable(error.description)
    }
    unsafe buffer = .allocate(capacity: 16_384)
    unsafe buffer.initialize(repeating: 0)
  }

  /// The device that `pulse` or `pulse:NAME` means, nil inside for the default one; nil for what is
  /// not PulseAudio's.
  private static func pulseDevice(_ text: String) -> String?? {
    if text == "pulse" { return .some(nil) }
    return text.hasPrefix("pulse:") ? .some(String(text.dropFirst(6))) : nil
  }

  deinit { unsafe buffer.deallocate() }

  /// Stops the devices.
  func close() {
    capture.stop()
    playback.stop()
    pulse?.close()
  }
}
