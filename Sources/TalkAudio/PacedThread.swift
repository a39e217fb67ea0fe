import Glibc
import Synchronization

/// A thread that calls a body every 10 ms while it is started, and sleeps without waking otherwise.
///
/// It keeps time by CLOCK_MONOTONIC: a late call is made up for, so no sound is added or lost.
/// Devices without a sound card of their own are driven by one.
final class PacedThread: Sendable {
  private static let period: Int64 = 10_000_000
  /// A thread that fell further behind than this starts counting anew: the machine slept.
  private static let longestLag: Int64 = 500_000_000

  private let isRunning = Atomic<Bool>(false)
  private let isEnding = Atomic<Bool>(false)
  private let poke: Wake
  private let body: @Sendable () -> Void
  private nonisolated(unsafe) var thread = pthread_t()

  /// Makes the thread, which waits for `start`; `body` is called on it alone.
  init(_ body: @escaping @Sendable () -> Void) throws(AudioFault) {
    self.body = body
    poke = try Wake()
    // The thread keeps this alive until it ends.
    let this = unsafe Unmanaged.passRetained(self)
    let code = unsafe pthread_create(&thread, nil, runPacedThread, this.toOpaque())
    guard code == 0 else {
      unsafe this.release()
      throw .noResources(what: "thread")
    }
  }

  /// Lets the calls begin; the first one comes at once.
  func start() {
    isRunning.store(true, ordering: .releasing)
    poke.signal()
  }

  /// Lets the calls end; one may still be under way.
  func stop() { isRunning.store(false, ordering: .releasing) }

  /// Ends the thread after the call under way, and waits for that if so told: never where a call
  /// may wait for a pipe. Call it once.
  func end(waiting: Bool) {
    isEnding.store(true, ordering: .releasing)
    poke.signal()
    if waiting { unsafe pthread_join(thread, nil) } else { unsafe pthread_detach(thread) }
  }

  fileprivate func run() {
    var due = Self.now()
    while !isEnding.load(ordering: .acquiring) {
      guard isRunning.load(ordering: .acquiring) else {
        sleep(nanoseconds: nil)
        due = Self.now()
        continue
      }
      let early = due - Self.now()
      if early > 0 { sleep(nanoseconds: early) }
      guard isRunning.load(ordering: .acquiring), Self.now() >= due else { continue }
      body()
      due += Self.period
      if Self.now() - due > Self.longestLag { due = Self.now() }
    }
  }

  /// Sleeps until poked, or for so long and up to a millisecond more (poll).
  private func sleep(nanoseconds: Int64?) {
    var wait = pollfd(fd: poke.descriptor, events: Int16(POLLIN), revents: 0)
    let milliseconds = nanoseconds.map { Int32(($0 + 999_999) / 1_000_000) } ?? -1
    _ = unsafe poll(&wait, 1, milliseconds)
    poke.drain()
  }

  private static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

private func runPacedThread(_ data: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let data = unsafe data else { return nil }
  unsafe Unmanaged<PacedThread>.fromOpaque(data).takeRetainedValue().run()
  return nil
}
