import Glibc

/// A thread that runs one closure (pthread_create(3)).
struct BackgroundThread {
  private let thread: pthread_t

  /// Starts `body`.
  init(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(ThreadBody(body))
    let failed = unsafe pthread_create(&thread, nil, runThreadBody, unsafe context.toOpaque())
    precondition(failed == 0, "no thread: error \(failed)")
    self.thread = thread
  }

  /// Waits for its end.
  func join() { _ = pthread_join(thread, nil) }
}

private final class ThreadBody: Sendable {
  let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().body()
  return nil
}
