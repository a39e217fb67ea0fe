import Glibc
import TalkAudio
import TalkCore

/// What the node's loop does with sound: waits for the devices' wakes, reads what was captured,
/// writes what is wanted.
final class Rig {
  let capture: any CaptureDevice
  let playback: any PlaybackDevice
  /// Everything captured so far.
  var heard: [Int16] = []
  /// When the first sample came.
  var firstHeard: Double?
  /// How many samples were written so far.
  var written = 0
  /// What is played, by the number of the sample since the start; silence when nil.
  var sound: ((Int) -> Int16)?
  var captureEvents: [AudioEvent] = []
  var playbackEvents: [AudioEvent] = []

  init(_ capture: any CaptureDevice, _ playback: any PlaybackDevice) {
    self.capture = capture
    self.playback = playback
  }

  convenience init(_ engine: PulseAudio) { self.init(engine.capture, engine.playback) }

  /// Works until `isDone`, at most so many milliseconds; true when it was done in time.
  @discardableResult
  func run(_ milliseconds: Double, until isDone: () -> Bool = { false }) -> Bool {
    let deadline = Clock.now() + milliseconds
    while !isDone() {
      let left = deadline - Clock.now()
      guard left > 0 else { return false }
      var waits = [capture.wake, playback.wake, capture.events.wake, playback.events.wake].map {
        pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
      }
      _ = poll(&waits, nfds_t(waits.count), Int32(left.rounded(.up)))
      step()
    }
    return true
  }

  private func step() {
    capture.wake.drain()
    playback.wake.drain()
    while let event = capture.events.next() { captureEvents.append(event) }
    while let event = playback.events.next() { playbackEvents.append(event) }
    var buffer = [Int16](repeating: 0, count: 4_800)
    while true {
      let got = buffer.withUnsafeMutableBufferPointer { capture.ring.read(into: $0) }
      guard got > 0 else { break }
      if firstHeard == nil { firstHeard = Clock.now() }
      heard += buffer.prefix(got)
    }
    let wanted = playback.wanted
    guard wanted > 0 else { return }
    let samples = (0..<wanted).map { sound?(written + $0) ?? 0 }
    written += wanted
    samples.withUnsafeBufferPointer { playback.write($0) }
  }

  /// Works until both devices can be used.
  func becomeReady(_ milliseconds: Double = 5_000) -> Bool {
    run(milliseconds) { capture.fault == nil && playback.fault == nil }
  }

  /// Works until loud sound is heard that was captured from now on.
  func hearSomething(_ milliseconds: Double = 3_000) -> Bool {
    heard = []
    return run(milliseconds) { heard.contains { abs(Int($0)) > 2_000 } }
  }
}

/// A steady tone of 440 Hz at a quarter of full scale.
func tone(_ index: Int) -> Int16 {
  Int16(8_192 * Platform.sine(2 * .pi * 440 * Double(index) / 48_000))
}
