import Glibc
import Synchronization
package import TalkCore

/// A microphone that hears a sound file: for `talk --file`, and for tests.
///
/// A thread of its own reads the file, so a slow disk or pipe blocks nobody. Stopped, it keeps its
/// place. After the file's end comes the event `ended`; what follows depends on the pace.
@safe package final class WaveFileCapture: CaptureDevice {
  /// How fast samples come.
  package enum Pace: Sendable {
    /// As from a microphone: 10 ms each 10 ms, and silence after the end of the file.
    case realTime
    /// A full ring each 10 ms (34 times as fast) as far as it is read; nothing after the end.
    case asAsked
  }

  /// What happens to the device, with its name and why it cannot be used.
  package let events: AudioEvents
  /// Readable when there is something to do.
  package let wake: Wake
  /// Captured samples; emptied by `start`.
  package let ring: SampleRing
  private let source: Source
  private let thread: PacedThread

  /// Opens the file at `path`, or standard input for "-"; `unreadableFile` when libsndfile cannot
  /// read it.
  package init(path: String, pace: Pace = .realTime) throws(AudioFault) {
    let reader = try SoundFileReader(path: path)
    events = try AudioEvents(name: "wav:\(path)", fault: nil)
    let source = try Source(reader, pace: pace, events: events)
    self.source = source
    ring = source.ring
    wake = source.wake
    thread = try PacedThread { source.tick() }
  }

  deinit { thread.end(waiting: false) }

  /// A file waits when nobody reads it; only silence after its end can be lost.
  package var overruns: Int { 0 }

  /// Lets samples move, as soon as there is a stream.
  package func start() {
    ring.skip(ring.count)
    thread.start()
  }

  /// Lets no more samples move.
  package func stop() { thread.stop() }

  /// What the thread uses.
  private final class Source: Sendable {
    let ring = SampleRing(capacity: AudioLimits.ring)
    let wake: Wake
    private let pace: Pace
    private let events: AudioEvents
    private nonisolated(unsafe) var reader: SoundFileReader
    private nonisolated(unsafe) var pending: [Int16] = []
    private nonisolated(unsafe) var isAtEnd = false
    private nonisolated(unsafe) var hasEnded = false

    init(_ reader: consuming SoundFileReader, pace: Pace, events: AudioEvents) throws(AudioFault) {
      unsafe self.reader = reader
      self.pace = pace
      self.events = events
      wake = try Wake()
    }

    func tick() {
      let room = ring.capacity - ring.count
      let amount = pace == .realTime ? min(AudioLimits.quantum, room) : room
      fill(amount)
      let sound = unsafe pending.prefix(amount)
      unsafe sound.withUnsafeBufferPointer { _ = unsafe ring.write($0) }
      unsafe pending.removeFirst(sound.count)
      if sound.count < amount, pace == .realTime {
        let silence = [Int16](repeating: 0, count: amount - sound.count)
        unsafe silence.withUnsafeBufferPointer { _ = unsafe ring.write($0) }
      }
      wake.signal()
    }

    /// Reads until `amount` samples are pending, or the file ends.
    private func fill(_ amount: Int) {
      while unsafe pending.count < amount, unsafe !isAtEnd {
        if unsafe !reader.read(into: &pending) { unsafe isAtEnd = true }
      }
      if unsafe isAtEnd, unsafe pending.count <= amount, unsafe !hasEnded {
        unsafe hasEnded = true
        events.ended()
      }
    }
  }
}
