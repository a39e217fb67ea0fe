import Glibc

/// Signals as bytes on a pipe, so that a loop can wait for them beside other things. One at a time
/// in a process.
struct SignalPipe: Sendable {
  /// Readable once a signal came; each is one byte, its number.
  let descriptor: Int32

  /// Catches `signals` from now on.
  init(_ signals: [Int32]) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else {
      descriptor = -1
      return
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    descriptor = ends[0]
    unsafe signalPipeWriter = ends[1]
    for number in signals { _ = signal(number, signalPipeHandler) }
  }

  /// Waits for a signal and returns its number.
  func next() -> Int32 {
    var number: UInt8 = 0
    while unsafe read(descriptor, &number, 1) < 0, errno == EINTR {}
    return Int32(number)
  }
}

private nonisolated(unsafe) var signalPipeWriter: Int32 = -1

/// Runs in the middle of anything: write(2) alone.
private func signalPipeHandler(_ number: Int32) {
  let before = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = unsafe write(signalPipeWriter, &byte, 1)
  errno = before
}
