import CPulse
import Synchronization
package import TalkCore

/// The microphone of a PulseAudio server.
@safe package final class PulseCapture: CaptureDevice {
  /// Sound that comes within this of uncorking may be older than the uncorking.
  private static let staleWatch: UInt64 = 500_000
  /// How much sound may come at once and still be new: a sound card's period or two.
  private static let staleSlack = 960

  /// What happens to the device, with its name and why it cannot be used.
  package let events: AudioEvents
  /// Readable when there is something to do.
  package let wake: Wake
  /// Captured samples; emptied by `start`.
  package let ring = SampleRing(capacity: AudioLimits.ring)
  let isStarted = Atomic<Bool>(false)
  private let command: Wake
  private let lost = Atomic<Int>(0)
  /// The rest belongs to libpulse's thread.
  private nonisolated(unsafe) var uncorkedAt: UInt64 = 0
  private nonisolated(unsafe) var received = 0
  private nonisolated(unsafe) var isOpen = false

  init(command: Wake) throws(AudioFault) {
    self.command = command
    wake = try Wake()
    events = try AudioEvents(name: PulseAudio.kind, fault: .noServer(reason: "not yet connected"))
  }

  /// How many samples were lost because nobody read the ring.
  package var overruns: Int { lost.load(ordering: .relaxed) }

  /// Lets samples move, as soon as there is a stream.
  package func start() {
    ring.skip(ring.count)
    isStarted.store(true, ordering: .releasing)
    command.signal()
  }

  /// Lets no more samples move.
  package func stop() {
    isStarted.store(false, ordering: .releasing)
    command.signal()
  }

  /// libpulse's thread: the stream is about to run.
  func willUncork() {
    unsafe uncorkedAt = pa_rtclock_now()
    unsafe received = 0
    unsafe isOpen = true
  }

  /// libpulse's thread: the stream is stopped, moved to another device, or gone. What is still
  /// under way does not count: it may be what a loudspeaker plays.
  func didCork() { unsafe isOpen = false }

  /// libpulse's thread: takes everything that the stream has (pa_stream_peek, pa_stream_drop).
  /// Allocates nothing, locks nothing.
  func take(from stream: OpaquePointer) {
    var any = false
    while true {
      var data: UnsafeRawPointer?
      var bytes = 0
      guard unsafe pa_stream_peek(stream, &data, &bytes) == 0, bytes > 0 else { break }
      if unsafe isOpen, isStarted.load(ordering: .acquiring) {
        // No data but a length is a hole in the recording: the time has passed all the same.
        let samples = unsafe UnsafeBufferPointer(
          start: data?.assumingMemoryBound(to: Int16.self), count: data == nil ? 0 : bytes / 2)
        unsafe deliver(samples)
        any = true
      }
      unsafe pa_stream_drop(stream)
    }
    if any { wake.signal() }
  }

  /// Passes on what was captured since uncorking. A source that nobody read meanwhile may hand out
  /// older sound at once (a pipe source holds 170 ms): more than the time allows is old.
  private func deliver(_ samples: UnsafeBufferPointer<Int16>) {
    var fresh = unsafe samples
    let elapsed = unsafe pa_rtclock_now() - uncorkedAt
    if elapsed < Self.staleWatch {
      let possible = Int(elapsed) * AudioLimits.sampleRate / 1_000_000 + Self.staleSlack
      let stale = unsafe min(samples.count, max(0, received + samples.count - possible))
      unsafe fresh = UnsafeBufferPointer(rebasing: samples[stale...])
      unsafe received += fresh.count
    }
    let written = unsafe ring.write(fresh)
    if written < fresh.count { lost.add(fresh.count - written, ordering: .relaxed) }
  }
}
