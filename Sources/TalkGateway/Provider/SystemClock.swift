import Glibc
package import TalkCore
import TalkNet

/// The clocks of this machine.
package struct SystemClock: ProviderClock {
  /// The clocks of this machine.
  package init() {}

  /// What CLOCK_BOOTTIME shows.
  package func now() -> Instant { BootClock.now() }

  /// What CLOCK_REALTIME shows, in whole seconds.
  package func unix() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(clamping: time.tv_sec)
  }
}
