package import TalkCore

/// What will happen, ordered by time and then by when it was scheduled, so that runs repeat.
package struct EventHeap<Event> {
  private var items: [(at: Instant, order: UInt64, event: Event)] = []
  private var nextOrder: UInt64 = 0

  /// Nothing scheduled.
  package init() {}

  /// When the next event happens.
  package var nextTime: Instant? { items.first?.at }

  /// Schedules an event.
  package mutating func schedule(_ event: Event, at time: Instant) {
    items.append((time, nextOrder, event))
    nextOrder += 1
    var child = items.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(child, parent) else { break }
      items.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the next event if it is due at `time`.
  package mutating func pop(until time: Instant) -> (at: Instant, event: Event)? {
    guard let first = items.first, first.at <= time else { return nil }
    items.swapAt(0, items.count - 1)
    items.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < items.count && isBefore(child, least) {
        least = child
      }
      guard least != parent else { break }
      items.swapAt(parent, least)
      parent = least
    }
    return (first.at, first.event)
  }

  private func isBefore(_ left: Int, _ right: Int) -> Bool {
    (items[left].at, items[left].order) < (items[right].at, items[right].order)
  }
}
