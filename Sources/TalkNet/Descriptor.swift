import Glibc
package import TalkCore

import CLinux

/// The clock of the whole program: CLOCK_BOOTTIME, which goes on while the machine sleeps.
package enum BootClock {
  /// What the clock shows (clock_gettime(2)).
  package static func now() -> Instant { Instant(nanoseconds: talk_boottime_nanoseconds()) }
}

/// A file descriptor that is closed with its owner.
final class Descriptor: Sendable {
  /// The number; valid while this object lives.
  let number: Int32

  /// Takes over `number`; a negative one is the failure of `call`.
  init(_ number: Int32, of call: String) throws(NetError) {
    guard number >= 0 else { throw .system(call: call, code: errno) }
    self.number = number
  }

  deinit { close(number) }
}
