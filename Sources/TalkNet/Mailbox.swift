import TalkCore

/// A bounded queue from any thread to one loop, which it wakes.
package final class Mailbox<Element: Sendable>: Sendable {
  private let lock = Lock()
  private let waker: Waker
  private nonisolated(unsafe) var queue: BoundedQueue<Element>

  /// An empty mailbox that takes at most `limit` elements.
  package init(limit: Int) throws(NetError) {
    waker = try Waker()
    unsafe queue = BoundedQueue(limit: limit)
  }

  /// Readable while elements may wait; for `EventLoop.add`.
  package var fd: Int32 { waker.fd }

  /// How many elements were refused because the mailbox was full.
  package var refused: Int { lock.withLock { unsafe queue.refused } }

  /// Adds an element from any thread; false, and counted, when the mailbox is full.
  @discardableResult
  package func post(_ element: Element) -> Bool {
    let taken = lock.withLock { unsafe queue.append(element) }
    waker.wake()
    return taken
  }

  /// Takes the oldest element; nil, and `fd` unreadable, when nothing waits. For the one reader.
  package func next() -> Element? {
    if let element = lock.withLock({ unsafe queue.popFirst() }) { return element }
    waker.clear()
    // What was posted between the look and the clearing must not be left lying.
    return lock.withLock { unsafe queue.popFirst() }
  }

  /// Hands over what waits, in order, and at most as much as the mailbox holds, so that a busy
  /// writer can't keep the loop here. For the one reader.
  package func drain(_ body: (Element) -> Void) {
    let limit = lock.withLock { unsafe queue.limit }
    for _ in 0..<limit {
      guard let element = next() else { return }
      body(element)
    }
  }

  /// Waits until something may have come, at most `milliseconds` (-1: without end). For a worker
  /// thread that is the one reader.
  package func wait(milliseconds: Int32 = -1) { waker.wait(milliseconds: milliseconds) }
}
