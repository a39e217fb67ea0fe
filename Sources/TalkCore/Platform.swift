import Glibc

/// The few functions that the pure set takes from the C library: mathematics. Nothing else in it
/// imports Glibc, so nothing in it can reach a clock, a file or a socket.
public enum Platform {
  /// sin(3).
  public static func sine(_ x: Double) -> Double { Glibc.sin(x) }
  /// cos(3).
  public static func cosine(_ x: Double) -> Double { Glibc.cos(x) }
  /// log(3): the natural logarithm.
  public static func logarithm(_ x: Double) -> Double { Glibc.log(x) }
  /// log10(3).
  public static func decimalLogarithm(_ x: Double) -> Double { Glibc.log10(x) }
  /// pow(3).
  public static func power(_ x: Double, _ y: Double) -> Double { Glibc.pow(x, y) }
}

/// A lock that several threads may take for a short, bounded time (pthread_mutex(3)); never taken
/// on an audio callback. (`Synchronization.Mutex` gives false positives under ThreadSanitizer.)
@safe public final class Lock: Sendable {
  private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// An open lock.
  public init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs `body` with the lock held.
  public func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body()
  }
}
