package import TalkCore
package import TalkWire

/// Keeps every frame of the running bursts from the first one on, and of those that ended up to
/// 30 s ago, so that a phone that wakes late misses no word. Bounded in all.
///
/// How to drive it: `begin` at the grant, `insert` each frame that the mesh hears first-hand, `end`
/// at the release; `wake` at `deadline`. Before the wake policy's clip is cut, `take` the burst.
package struct BurstBuffer: Sendable {
  /// The most bytes of memory for frames.
  package static let memoryLimit = 64 << 20
  /// The most bursts: as many as the wake policy follows.
  package static let burstLimit = WakeLimits.bursts
  /// A little longer than phones may come late, so that the clip can still be cut.
  static let keep = WakeLimits.keep + .seconds(2)
  /// A burst that brings no frame for so long is over: its speaker died, and nobody said so. The
  /// mesh's own lease is far shorter (floor.md), so this is the last resort.
  package static let silence = Duration.seconds(2)

  /// What is counted of things not kept.
  package struct Counts: Hashable, Sendable {
    /// Frames for which there was no memory.
    package var refusedFrames = 0
    /// Bursts that were given up for newer ones before their time.
    package var evicted = 0
    /// Bursts for which there was no place.
    package var refusedBursts = 0

    /// Nothing counted.
    package init() {}
  }

  private var bursts = OrderedTable<BurstID, KeptBurst>(limit: burstLimit)
  private var nextOrder: UInt64 = 1
  private let limit: Int
  /// Bytes of memory that frames take.
  package private(set) var memory = 0
  /// What was not kept.
  package private(set) var counts = Counts()

  /// An empty buffer; another limit than `memoryLimit` is for tests.
  package init(memoryLimit: Int = memoryLimit) {
    limit = memoryLimit
  }

  /// A burst begins. False when it is known, or there is no place and none that ended to give up.
  @discardableResult
  package mutating func begin(
    _ id: BurstID, channel: ChannelID, token: TokenID, floorClass: FloorClass, name: String,
    now: Instant
  ) -> Bool {
    guard bursts[id] == nil else { return false }
    guard !bursts.isFull || evict() else {
      counts.refusedBursts += 1
      return false
    }
    bursts[id] = KeptBurst(
      id: id, channel: channel, token: token, floorClass: floorClass, name: SafeText.cut(name),
      order: nextOrder, now: now)
    nextOrder += 1
    return true
  }

  /// Keeps a frame of a burst; false when it is not kept: unknown burst, a copy, a number or length
  /// that can't be, or no memory.
  @discardableResult
  package mutating func insert(
    _ id: BurstID, _ number: UInt32, _ length: FrameLength, _ frame: UnsafeRawBufferPointer,
    now: Instant
  ) -> Bool {
    guard let index = bursts.index(of: id) else { return false }
    bursts[at: index].lastHeard = now
    while memory + bursts[at: index].growth > limit {
      guard evict() else {
        counts.refusedFrames += 1
        return false
      }
      // Positions moved; the burst itself is running or was just heard, and stays.
      guard bursts.index(of: id) != nil else { return false }
      return unsafe insert(id, number, length, frame, now: now)
    }
    let before = bursts[at: index].memory
    let kept = unsafe bursts[at: index].insert(number, length, frame)
    memory += bursts[at: index].memory - before
    return kept
  }

  /// The burst is over; `lastFrame` is the number that its end named, if one did.
  package mutating func end(_ id: BurstID, lastFrame: UInt32?, now: Instant) {
    guard let index = bursts.index(of: id), bursts[at: index].ended == nil else { return }
    let count = bursts[at: index].frameCount
    // A frame that comes behind its release is still taken, up to the one that was named.
    let last = lastFrame.map { min($0, UInt32(KeptBurst.frameLimit - 1)) }
    bursts[at: index].ended = (last ?? (count > 0 ? count - 1 : nil), now)
  }

  /// Gives up the burst that ended first.
  private mutating func evict() -> Bool {
    let ended = bursts.values.filter { $0.ended != nil }
    guard let oldest = ended.min(by: { $0.order < $1.order }) else { return false }
    counts.evicted += 1
    remove(oldest)
    return true
  }

  private mutating func remove(_ burst: KeptBurst) {
    memory -= burst.memory
    bursts[burst.id] = nil
  }

  /// A burst; nil when it is not kept.
  package subscript(id: BurstID) -> KeptBurst? { bursts[id] }

  /// The bursts of a channel that a phone may still hear, the oldest first.
  package func bursts(on channel: ChannelID, now: Instant) -> [BurstID] {
    bursts.values.filter { burst in
      burst.channel == channel && burst.ended.map { now < $0.at + WakeLimits.keep } ?? true
    }.sorted { $0.order < $1.order }.map(\.id)
  }

  /// Takes a burst out: for its clip.
  package mutating func take(_ id: BurstID) -> KeptBurst? {
    guard let burst = bursts[id] else { return nil }
    remove(burst)
    return burst
  }

  /// When `wake` wants to be called; nil when nothing is kept.
  package var deadline: Instant? {
    bursts.values.reduce(nil) { earliest, burst in
      .earliest(earliest, burst.ended.map { $0.at + Self.keep } ?? burst.lastHeard + Self.silence)
    }
  }

  /// Drops bursts whose time is over, and ends those whose speaker fell silent: these are returned,
  /// so that phones are told.
  package mutating func wake(now: Instant) -> [BurstID] {
    var silent: [BurstID] = []
    for id in Array(bursts.keys) {
      guard let burst = bursts[id] else { continue }
      if let ended = burst.ended {
        if ended.at + Self.keep <= now { remove(burst) }
      } else if burst.lastHeard + Self.silence <= now {
        end(id, lastFrame: nil, now: now)
        silent.append(id)
      }
    }
    return silent
  }
}
