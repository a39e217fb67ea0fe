import Glibc
import TalkCore

import CLinux

/// A thread of our own (pthread_create(3)): with a name that `top -H` shows, and a stated stack.
package final class NodeThread: Sendable {
  /// How the scheduler should treat the thread.
  package enum Priority: Sendable {
    /// Like any thread.
    case usual
    /// Before others: real time at the lowest level, else nice -10, else usual. For the node loop.
    case urgent
  }

  private let thread: pthread_t

  /// Starts `body` on a new thread. The name is cut to 15 bytes, Linux's limit.
  package init(
    name: String, stackSize: Int = 1 << 20, priority: Priority = .usual,
    body: @escaping @Sendable () -> Void
  ) throws(NetError) {
    let start = unsafe Unmanaged.passRetained(
      ThreadStart(name: name, priority: priority, body: body))
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setstacksize(&attributes, stackSize)
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, &attributes, threadMain, start.toOpaque())
    guard code == 0 else {
      unsafe start.release()
      throw .system(call: "pthread_create", code: code)
    }
    self.thread = thread
  }

  /// Waits until the thread's body has returned. Call `join` or `detach`, one of them, once.
  package func join() { pthread_join(thread, nil) }

  /// Lets the thread end by itself, for bodies that may hang in a foreign call.
  package func detach() { pthread_detach(thread) }
}

/// What a new thread needs to know.
private final class ThreadStart: Sendable {
  let name: String
  let priority: NodeThread.Priority
  let body: @Sendable () -> Void

  init(name: String, priority: NodeThread.Priority, body: @escaping @Sendable () -> Void) {
    (self.name, self.priority, self.body) = (name, priority, body)
  }
}

/// C calls this on the new thread; a file-scope function, so that no isolation is inherited.
private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
  unsafe talk_name_thread(SafeText.cut(start.name, to: 15))
  if start.priority == .urgent { _ = talk_prioritise_thread() }
  start.body()
  return nil
}
