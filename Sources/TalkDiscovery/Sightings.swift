import TalkCore

/// Where an instance was seen.
struct Sighting: Hashable, Comparable {
  let instance: String
  let interface: Int32
  let version: Int32

  static func < (left: Sighting, right: Sighting) -> Bool {
    (left.instance, left.interface, left.version)
      < (right.instance, right.interface, right.version)
  }
}

/// What the browser shows at present, and what of it has still to be resolved.
struct Sightings {
  /// The most sightings kept: 1,000 instances on two links with both IP versions. More are ignored.
  static let limit = 4_096
  /// How long after a new browser a sighting may be missing from it. (3 % of browsers never say
  /// that they have shown everything, so time says it.)
  static let grace = Duration.seconds(15)

  private var seen = OrderedTable<Sighting, UInt32>(limit: limit)
  private var pending = BoundedQueue<Sighting>(limit: limit)
  private var generation: UInt32 = 0
  /// When sightings that the newest browser has not shown are dropped.
  private(set) var deadline = Instant.distantFuture

  /// True while something has to be resolved.
  var hasPending: Bool { !pending.isEmpty }

  /// A new browser starts: it will show everything again.
  mutating func begin(at now: Instant) {
    generation &+= 1
    pending.removeAll()
    deadline = now + Self.grace
  }

  /// The browser shows one; false when there are too many.
  mutating func add(_ sighting: Sighting) -> Bool {
    guard seen[sighting] != nil || !seen.isFull else { return false }
    seen[sighting] = generation
    return pending.append(sighting)
  }

  /// The browser has lost one; true when the instance is not seen anywhere any more.
  mutating func remove(_ sighting: Sighting) -> Bool {
    guard seen[sighting] != nil else { return false }
    seen[sighting] = nil
    return !isSeen(sighting.instance)
  }

  private func isSeen(_ instance: String) -> Bool {
    seen.keys.contains { $0.instance == instance }
  }

  /// The next one to be resolved that is still seen.
  mutating func nextPending() -> Sighting? {
    while let sighting = pending.popFirst() {
      if seen[sighting] != nil { return sighting }
    }
    return nil
  }

  /// Puts one back that could not be resolved now.
  mutating func postpone(_ sighting: Sighting) { pending.append(sighting) }

  /// Drops what has to be resolved: the next browser shows it again.
  mutating func forgetPending() { pending.removeAll() }

  /// Once the grace is over: drops what the newest browser has not shown, and returns the instances
  /// that are gone with it.
  mutating func expire(at now: Instant) -> [String] {
    guard deadline <= now else { return [] }
    deadline = .distantFuture
    var gone: [String] = []
    for (sighting, last) in zip(seen.keys, seen.values) where last != generation {
      if gone.last != sighting.instance { gone.append(sighting.instance) }
    }
    let current = generation
    seen.removeAll { $1 != current }
    return gone.filter { !isSeen($0) }
  }
}
