import Glibc

import CLinux

/// Wakes a loop from any thread (eventfd(2)).
package final class Waker: Sendable {
  private let descriptor: Descriptor

  /// A waker that has not been woken.
  package init() throws(NetError) {
    descriptor = try Descriptor(talk_eventfd(), of: "eventfd")
  }

  /// Readable from a `wake` until the next `clear`; for `EventLoop.add`.
  package var fd: Int32 { descriptor.number }

  /// Makes `fd` readable; from any thread, without waiting.
  package func wake() {
    var one: UInt64 = 1
    // A full counter refuses, and is readable all the same.
    _ = unsafe write(fd, &one, 8)
  }

  /// Makes `fd` unreadable until the next `wake`.
  package func clear() {
    var count: UInt64 = 0
    _ = unsafe read(fd, &count, 8)
  }

  /// Waits for a `wake`, at most `milliseconds` (-1: without end). For threads that only wait.
  package func wait(milliseconds: Int32 = -1) {
    var poller = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&poller, 1, milliseconds)
  }
}
