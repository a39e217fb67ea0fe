package import TalkCore
package import TalkWire

/// Who waits for the floor: at most sixteen, by class, then by arrival; one entry for each
/// (peer, seat), with its newest request.
package struct FloorQueue: Sendable {
  /// The waiting talkers, next one first.
  package private(set) var entries: [QueueEntry] = []

  /// An empty queue.
  package init() {}

  /// Takes over a replicated queue; entries beyond the limit and doubles are dropped.
  package mutating func replace(with entries: [QueueEntry]) {
    self.entries.removeAll(keepingCapacity: true)
    for entry in entries where place(of: entry.peer, seat: entry.seat) == nil {
      guard self.entries.count < FloorMessage.queueLimit else { return }
      self.entries.append(entry)
    }
  }

  /// The place of a talker, counted from 0.
  package func place(of peer: PeerID, seat: UInt16) -> Int? {
    entries.firstIndex { $0.peer == peer && $0.seat == seat }
  }

  /// Puts a talker where its class belongs, or renews its request; false when the queue is full.
  /// `changed` says whether anything is new for the others.
  package mutating func insert(_ entry: QueueEntry) -> (accepted: Bool, changed: Bool) {
    if let place = place(of: entry.peer, seat: entry.seat) {
      let old = entries[place]
      if old == entry { return (true, false) }
      entries.remove(at: place)
    }
    guard entries.count < FloorMessage.queueLimit else { return (false, false) }
    let place = entries.firstIndex { $0.floorClass < entry.floorClass } ?? entries.count
    entries.insert(entry, at: place)
    return (true, true)
  }

  /// Removes a talker; true when it was there.
  package mutating func remove(_ peer: PeerID, seat: UInt16) -> Bool {
    guard let place = place(of: peer, seat: seat) else { return false }
    entries.remove(at: place)
    return true
  }

  /// Removes everyone behind `peer`; true when anybody was there.
  package mutating func removeAll(of peer: PeerID) -> Bool {
    let before = entries.count
    entries.removeAll { $0.peer == peer }
    return entries.count != before
  }

  /// Takes the talker who is next.
  package mutating func popFirst() -> QueueEntry? {
    entries.isEmpty ? nil : entries.removeFirst()
  }

  /// Four bytes that differ when the queues do, for the heartbeat (FNV-1a over the entries).
  package var digest: UInt32 {
    var hash: UInt32 = 0x811c_9dc5
    func mix(_ value: UInt64) {
      for shift in stride(from: UInt64(0), to: 64, by: 8) {
        hash = (hash ^ UInt32(value >> shift & 0xff)) &* 0x0100_0193
      }
    }
    for entry in entries {
      mix(UInt64(entry.floorClass.rawValue))
      mix(entry.request)
      mix(entry.peer.value.high)
      mix(entry.peer.value.low)
      mix(UInt64(entry.seat))
    }
    return hash
  }
}
