import Glibc
import TalkCore

import CLinux

/// A timer of an edge's own on an `EventLoop`, beside the node's one deadline (timerfd(2)).
package final class LoopTimer {
  private let descriptor: Descriptor
  private let loop: EventLoop

  /// A timer that is not armed; it lives until `cancel`, with its handler.
  package init(loop: EventLoop, _ handler: @escaping () -> Void) throws(NetError) {
    let descriptor = try Descriptor(talk_timerfd(), of: "timerfd_create")
    self.descriptor = descriptor
    self.loop = loop
    try loop.add(fd: descriptor.number) {
      var expirations: UInt64 = 0
      // Re-armed or disarmed in the meantime: nothing to read.
      guard unsafe read(descriptor.number, &expirations, 8) == 8 else { return }
      handler()
    }
  }

  /// Calls the handler once after `delay`; replaces what was armed before.
  package func arm(after delay: Duration) {
    _ = talk_timerfd_set(descriptor.number, max(1, (BootClock.now() + delay).nanoseconds))
  }

  /// Takes the timer off its loop.
  package func cancel() { loop.remove(fd: descriptor.number) }
}
