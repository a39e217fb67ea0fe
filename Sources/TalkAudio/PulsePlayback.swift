import CPulse
import Synchronization
import TalkCore

/// The loudspeaker of a PulseAudio server.
///
/// The server asks for samples 10 ms before it runs out of them; the loop is woken, writes them,
/// and wakes libpulse's thread, which passes them on: so nothing waits in between. When the loop is
/// too late, the server says that it ran dry, and gets silence: without, it would never ask again.
@safe package final class PulsePlayback: PlaybackDevice {
  package let events: AudioEvents
  /// Readable when there is something to do.
  package let wake: Wake
  let isStarted = Atomic<Bool>(false)
  private let ring = SampleRing(capacity: AudioLimits.ring)
  private let command: Wake
  /// What the server could take when it was last looked at.
  private let room = Atomic<Int>(0)
  private let dry = Atomic<Int>(0)
  /// libpulse's thread: true once something was passed on that the server has not played.
  private(set) nonisolated(unsafe) var isPrimed = false

  init(command: Wake) throws(AudioFault) {
    self.command = command
    wake = try Wake()
    events = try AudioEvents(name: PulseAudio.kind, fault: .noServer(reason: "not yet connected"))
  }

  /// How often silence had to be played because nothing was written.
  package var underruns: Int { dry.load(ordering: .relaxed) }

  /// How many samples should be written now; 0 while stopped.
  package var wanted: Int {
    guard isStarted.load(ordering: .relaxed) else { return 0 }
    return max(0, room.load(ordering: .acquiring) - ring.count)
  }

  /// Hands over samples to be heard next; what exceeds the room is left out.
  package func write(_ samples: UnsafeBufferPointer<Int16>) {
    unsafe ring.write(samples)
    command.signal()
  }

  /// Lets samples move, as soon as there is a stream.
  package func start() {
    isStarted.store(true, ordering: .releasing)
    command.signal()
  }

  /// Lets no more samples move.
  package func stop() {
    isStarted.store(false, ordering: .releasing)
    command.signal()
  }

  /// libpulse's thread: the stream is stopped or gone, and so is what was written for it.
  func didCork() {
    ring.skip(ring.count)
    unsafe isPrimed = false
    room.store(0, ordering: .releasing)
  }

  /// libpulse's thread: passes on what was written, and asks for what the server can still take
  /// (pa_stream_writable_size). Allocates nothing, locks nothing.
  func supply(_ stream: OpaquePointer, ask: Bool) {
    let writable = unsafe pa_stream_writable_size(stream)
    guard writable != .max, writable > 0 else { return }
    var rest = Int(writable) / 2
    while rest > 0, ring.count > 0 {
      let written = unsafe put(min(rest, ring.count), into: stream, silence: false)
      guard written > 0 else { break }
      rest -= written
    }
    room.store(rest, ordering: .releasing)
    if ask, rest > 0 { wake.signal() }
  }

  /// libpulse's thread: the server ran dry. Gives it what there is, else 10 ms of silence.
  func relieve(_ stream: OpaquePointer) {
    guard isStarted.load(ordering: .relaxed) else { return }
    dry.add(1, ordering: .relaxed)
    if ring.count == 0 {
      _ = unsafe put(AudioLimits.quantum, into: stream, silence: true)
    }
    unsafe supply(stream, ask: true)
  }

  /// Writes up to `count` samples into the server's memory (pa_stream_begin_write, _write) and
  /// returns how many.
  private func put(_ count: Int, into stream: OpaquePointer, silence: Bool) -> Int {
    var memory: UnsafeMutableRawPointer?
    var bytes = count * 2
    guard unsafe pa_stream_begin_write(stream, &memory, &bytes) == 0, let memory = unsafe memory,
      bytes > 1
    else {
      return 0
    }
    let amount = min(count, bytes / 2)
    let samples = unsafe UnsafeMutableBufferPointer(
      start: memory.assumingMemoryBound(to: Int16.self), count: amount)
    if silence {
      unsafe samples.update(repeating: 0)
    } else {
      _ = unsafe ring.read(into: samples)
    }
    unsafe isPrimed = true
    _ = unsafe pa_stream_write(stream, memory, amount * 2, nil, 0, PA_SEEK_RELATIVE)
    return amount
  }
}
