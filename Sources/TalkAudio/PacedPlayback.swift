import Synchronization
import TalkCore

/// A loudspeaker without a sound card: a thread takes 10 ms at a time out of a sink.
protocol PacedPlayback: PlaybackDevice {
  /// Where the samples wait for their time.
  var sink: PacedSink { get }
  /// What takes them.
  var thread: PacedThread { get }
}

extension PacedPlayback {
  /// Readable when there is something to do.
  package var wake: Wake { sink.wake }

  /// How often silence had to be played because nothing was written.
  package var underruns: Int { sink.underruns }

  /// How many samples should be written now; 0 while stopped.
  package var wanted: Int { sink.wanted }

  /// Hands over samples to be heard next; what exceeds the room is left out.
  package func write(_ samples: UnsafeBufferPointer<Int16>) { unsafe sink.write(samples) }

  /// Lets samples move.
  package func start() {
    sink.start()
    thread.start()
  }

  /// Lets no more samples move.
  package func stop() {
    sink.stop()
    thread.stop()
  }
}

/// What the devices that play without a sound card share: 10 ms are taken out of a ring at a time,
/// silence where it is short, and the loop is asked for the next 10.
@safe final class PacedSink: Sendable {
  let wake: Wake
  private let ring = SampleRing(capacity: AudioLimits.ring)
  private let isStarted = Atomic<Bool>(false)
  private let dry = Atomic<Int>(0)
  private let consume: @Sendable (UnsafeBufferPointer<Int16>) -> Void
  private nonisolated(unsafe) let samples: UnsafeMutableBufferPointer<Int16>

  init(consume: @escaping @Sendable (UnsafeBufferPointer<Int16>) -> Void) throws(AudioFault) {
    unsafe self.consume = consume
    unsafe samples = .allocate(capacity: AudioLimits.quantum)
    unsafe samples.initialize(repeating: 0)
    wake = try Wake()
  }

  deinit { unsafe samples.deallocate() }

  var underruns: Int { dry.load(ordering: .relaxed) }

  /// One quantum ahead of what plays.
  var wanted: Int {
    isStarted.load(ordering: .relaxed) ? max(0, AudioLimits.quantum - ring.count) : 0
  }

  func write(_ source: UnsafeBufferPointer<Int16>) { unsafe ring.write(source) }

  func start() {
    isStarted.store(true, ordering: .releasing)
    wake.signal()
  }

  func stop() { isStarted.store(false, ordering: .releasing) }

  /// The thread: plays the next 10 ms.
  func tick() {
    guard isStarted.load(ordering: .acquiring) else { return }
    let got = unsafe ring.read(into: samples)
    if got < AudioLimits.quantum {
      dry.add(1, ordering: .relaxed)
      unsafe UnsafeMutableBufferPointer(rebasing: samples[got...]).update(repeating: 0)
    }
    unsafe consume(UnsafeBufferPointer(samples))
    wake.signal()
  }
}
