import Synchronization
package import TalkCore

/// A microphone that hears nothing: silence in real time. For nodes without sound, and tests.
@safe package final class NullCapture: CaptureDevice {
  package let events: AudioEvents
  /// Readable when there is something to do.
  package let wake: Wake
  /// Captured samples; emptied by `start`.
  package let ring: SampleRing
  private let state: State
  private let thread: PacedThread

  /// What the thread uses.
  private final class State: Sendable {
    let ring = SampleRing(capacity: AudioLimits.ring)
    let wake: Wake
    let lost = Atomic<Int>(0)

    init() throws(AudioFault) { wake = try Wake() }

    func tick() {
      let written = unsafe withUnsafeTemporaryAllocation(
        of: Int16.self, capacity: AudioLimits.quantum
      ) { samples in
        unsafe samples.initialize(repeating: 0)
        return unsafe ring.write(UnsafeBufferPointer(samples))
      }
      lost.add(AudioLimits.quantum - written, ordering: .relaxed)
      wake.signal()
    }
  }

  /// Makes the device, stopped.
  package init() throws(AudioFault) {
    let state = try State()
    self.state = state
    ring = state.ring
    wake = state.wake
    events = try AudioEvents(name: "null", fault: nil)
    thread = try PacedThread { state.tick() }
  }

  deinit { thread.end(waiting: true) }

  /// How many samples were lost because nobody read the ring.
  package var overruns: Int { state.lost.load(ordering: .relaxed) }

  /// Lets samples move, as soon as there is a stream.
  package func start() {
    ring.skip(ring.count)
    thread.start()
  }

  /// Lets no more samples move.
  package func stop() { thread.stop() }
}

/// A loudspeaker that nobody hears: takes samples in real time. For nodes without sound, and tests.
@safe package final class NullPlayback: PacedPlayback {
  package let events: AudioEvents
  let sink: PacedSink
  let thread: PacedThread

  /// Makes the device, stopped.
  package init() throws(AudioFault) {
    let sink = try unsafe PacedSink { _ in }
    self.sink = sink
    events = try AudioEvents(name: "null", fault: nil)
    thread = try PacedThread { sink.tick() }
  }

  deinit { thread.end(waiting: true) }
}
