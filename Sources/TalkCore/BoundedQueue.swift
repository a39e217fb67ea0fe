/// A first-in, first-out queue with a stated limit and memory that is taken once.
///
/// Sub-machines hand their effects to the node through one; a full queue refuses, and counts it.
public struct BoundedQueue<Element> {
  private var slots: [Element?]
  private var head = 0
  /// How many elements wait.
  public private(set) var count = 0
  /// How many elements were refused because the queue was full.
  public private(set) var refused = 0

  /// An empty queue that takes at most `limit` elements.
  public init(limit: Int) {
    slots = Array(repeating: nil, count: limit)
  }

  /// The most elements that the queue takes.
  public var limit: Int { slots.count }
  /// True when nothing waits.
  public var isEmpty: Bool { count == 0 }

  /// Adds an element at the end; false, and counted, when the queue is full.
  @discardableResult
  public mutating func append(_ element: Element) -> Bool {
    guard count < slots.count else {
      refused += 1
      return false
    }
    slots[(head + count) % slots.count] = element
    count += 1
    return true
  }

  /// Takes the oldest element; nil when nothing waits.
  public mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    defer {
      slots[head] = nil
      head = (head + 1) % slots.count
      count -= 1
    }
    return slots[head]
  }

  /// The oldest element, left in place.
  public var first: Element? { count == 0 ? nil : slots[head] }

  /// Drops everything that waits.
  public mutating func removeAll() {
    while popFirst() != nil {}
  }
}

extension BoundedQueue: Sendable where Element: Sendable {}
