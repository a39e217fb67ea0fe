import CLinux
import Glibc

/// An eventfd(2) by which one thread wakes another that waits in epoll or poll.
package final class Wake: Sendable {
  /// Readable once `signal` was called, until `drain`.
  package let descriptor: Int32

  /// Makes a descriptor; `noResources` when the process has too many.
  package init() throws(AudioFault) {
    descriptor = talk_eventfd()
    guard descriptor >= 0 else { throw .noResources(what: "eventfd") }
  }

  deinit { close(descriptor) }

  /// Makes the descriptor readable; may be called on any thread, never blocks.
  package func signal() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  /// Makes the descriptor unreadable until the next signal.
  package func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
