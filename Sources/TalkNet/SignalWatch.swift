import Glibc

import CLinux

/// Takes signals as input of a loop instead of handlers (signalfd(2)).
package final class SignalWatch: Sendable {
  private let descriptor: Descriptor

  /// Blocks `signals` in this thread and in those that it starts later, so make it first of all.
  package init(_ signals: [Int32]) throws(NetError) {
    descriptor = try Descriptor(
      unsafe talk_signalfd(signals, Int32(signals.count)), of: "signalfd")
  }

  /// Readable while a signal waits; for `EventLoop.add`.
  package var fd: Int32 { descriptor.number }

  /// The next signal that waits; nil when there is none.
  package func next() -> Int32? {
    let signal = talk_signalfd_next(fd)
    return signal == 0 ? nil : signal
  }
}
