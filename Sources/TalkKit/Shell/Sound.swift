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
      let needsPulse = capture == "pulse" || playback == "pulse"
      pulse = needsPulse ? try PulseAudio() : nil
      switch capture {
      case "pulse": self.capture = pulse!.capture
      case "null": self.capture = try NullCapture()
      default: self.capture = try WaveFileCapture(path: capture)
      }
      switch playback {
      case "pulse": self.playback = pulse!.playback
      case "null": self.playback = try NullPlayback()
      default: self.playback = try WaveFilePlayback(path: playback)
      }
    } catch {
      throw .unavailable(error.description)
    }
    unsafe buffer = .allocate(capacity: 16_384)
    unsafe buffer.initialize(repeating: 0)
  }

  deinit { unsafe buffer.deallocate() }

  /// Stops the devices.
  func close() {
    capture.stop()
    playback.stop()
    pulse?.close()
  }
}
