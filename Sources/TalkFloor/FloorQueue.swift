package import TalkCore
package import TalkWire

/// Who waits for the floor: at most sixteen, by class, then by arrival; one entry for each
/// (peer, seat), with its newest request.
///
/// Members of the running exchange go before others of their class who have not waited for the hang
/// time yet. So nobody is overtaken for longer than that.
package struct FloorQueue: Sendable {
  /// The waiting talkers, next one first.
  package private(set) var entries: [QueueEntry] = []
  /// Since when each has been seen waiting, here.
  private var arrivals: [Instant] = []

  /// An empty queue.
  package init() {}

  /// Takes over a replicated queue; entries beyond the limit and doubles are dropped.
  package mutating func replace(with entries: [QueueEntry], now: Instant) {
    let (before, since) = (self.entries, arrivals)
    self.entries.removeAll(keepingCapacity: true)
    arrivals.removeAll(keepingCapacity: true)
    for entry in entries where place(of: entry.peer, seat: entry.seat) == nil {
      guard self.entries.count < FloorMessage.queueLimit else { return }
      self.entries.append(entry)
      let known = before.firstIndex { $0.peer == entry.peer && $0.seat == entry.seat }
      arrivals.append(known.map { since[$0] } ?? now)
    }
  }

  /// The place of a talker, counted from 0.
  package func place(of peer: PeerID, seat: UInt16) -> Int? {
    entries.firstIndex { $0.peer == peer && $0.seat == seat }
  }

  /// Puts a talker where its class belongs, or renews its request; false when the queue is full.
  /// `changed` says whether anything is new for the others. A talker of the running `exchange`
  /// goes before those of its class who wait for less than `hangTime`.
  package mutating func insert(
    _ entry: QueueEntry, exchange: FloorExchange, hangTime: Duration, now: Instant
  ) -> (accepted: Bool, changed: Bool) {
    if let place = place(of: entry.peer, seat: entry.seat) {
      let old = entries[place]
      if old == entry { return (true, false) }
      remove(at: place)
    }
    guard entries.count < FloorMessage.queueLimit else { return (false, false) }
    var place = entries.firstIndex { $0.floorClass < entry.floorClass } ?? entries.count
    if exchange.contains(entry.peer, seat: entry.seat) {
      while place > 0, entries[place - 1].floorClass == entry.floorClass,
        now - arrivals[place - 1] < hangTime,
        !exchange.contains(entries[place - 1].peer, seat: entries[place - 1].seat)
      {
        place -= 1
      }
    }
    entries.insert(entry, at: place)
    arrivals.insert(now, at: place)
    return (true, true)
  }

  /// Removes a talker; true when it was there.
  package mutating func remove(_ peer: PeerID, seat: UInt16) -> Bool {
    guard let place = place(of: peer, seat: seat) else { return false }
    remove(at: place)
    return true
  }

  private mutating func remove(at place: Int) {
    entries.remove(at: place)
    arrivals.remove(at: place)
  }

  /// Removes everyone behind `peer`; true when anybody was there.
  package mutating func removeAll(of peer: PeerID) -> Bool {
    let before = entries.count
    for place in entries.indices.reversed() where entries[place].peer == peer {
      remove(at: place)
    }
    return entries.count != before
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
