/// What will happen in a world: plain values, so that moving them about costs nothing.
struct WorldEvent {
  /// What an event is.
  enum Kind: UInt8 {
    case message, voice, presence, wake, frame, tail, tick, handshake
    case item, itemEnd, assertKey, level, keyExpires, patience, letGo
    case onDisk, diskTold, restart, resume, lie, census, drain
  }

  var kind: Kind
  /// Whom it happens to.
  var node: Int32
  /// The other node, or another small number.
  var other: Int32 = 0
  /// Where its message lies.
  var slot: Int32 = -1
  /// A generation, a turn, a token to tell an old event from a new one.
  var number: UInt64 = 0
}

/// Events by time, and at one time by the order in which they were scheduled: a heap with four
/// children a node.
struct WorldQueue {
  private struct Entry {
    var at: UInt64
    var order: UInt64
    var event: WorldEvent
  }

  private var entries: [Entry] = []
  private var nextOrder: UInt64 = 0

  init() { entries.reserveCapacity(4_096) }

  /// When the next event happens; `.max` when there is none.
  var nextTime: UInt64 { entries.first?.at ?? .max }

  private static func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    left.at != right.at ? left.at < right.at : left.order < right.order
  }

  mutating func schedule(_ event: WorldEvent, at time: UInt64) {
    let entry = Entry(at: time, order: nextOrder, event: event)
    nextOrder += 1
    var child = entries.count
    entries.append(entry)
    while child > 0 {
      let parent = (child - 1) / 4
      guard Self.isBefore(entry, entries[parent]) else { break }
      entries[child] = entries[parent]
      child = parent
    }
    entries[child] = entry
  }

  /// Takes the next event.
  mutating func pop() -> (at: UInt64, event: WorldEvent)? {
    guard let first = entries.first else { return nil }
    let moved = entries.removeLast()
    let count = entries.count
    guard count > 0 else { return (first.at, first.event) }
    var parent = 0
    while true {
      var least = 4 * parent + 1
      guard least < count else { break }
      let end = min(least + 4, count)
      var child = least + 1
      while child < end {
        if Self.isBefore(entries[child], entries[least]) { least = child }
        child += 1
      }
      guard Self.isBefore(entries[least], moved) else { break }
      entries[parent] = entries[least]
      parent = least
    }
    entries[parent] = moved
    return (first.at, first.event)
  }
}
