package import TalkCore
package import TalkWire

/// Something that presses the key: a client of the control socket, a pedal, the node's own latch.
package struct PressSource: Hashable, Comparable, Sendable {
  /// Names the source; the shell gives each connection and device its own.
  package var id: UInt64
  /// True when the node owns the key, so that nobody has to assert it again.
  package var isOwned: Bool

  /// Makes a source that must assert its level again and again.
  package init(id: UInt64) {
    self.id = id
    isOwned = false
  }

  /// Makes a source that the node owns.
  package init(ownedID id: UInt64) {
    self.id = id
    isOwned = true
  }

  /// The latch that `talk press` sets.
  package static let latch = PressSource(ownedID: 0)

  /// Orders by number.
  package static func < (left: PressSource, right: PressSource) -> Bool { left.id < right.id }
}

/// Which key is down for which channel (floor.md: "Key state is a level").
///
/// A source re-asserts its level; one that falls silent for 500 ms is up. The latch needs no
/// re-assertion. With several keys down the one pressed last has the floor asked for, and when it
/// goes up the one before it counts again (surface.md, "a target stack").
package struct KeyTable: Sendable {
  /// What the key that counts wants.
  package struct Target: Hashable, Sendable {
    /// The channel to talk on.
    package var channel: ChannelID
    /// How urgent.
    package var floorClass: FloorClass

    /// Makes a target.
    package init(channel: ChannelID, floorClass: FloorClass) {
      self.channel = channel
      self.floorClass = floorClass
    }
  }

  private struct Hold {
    var target: Target
    var order: UInt64
    var expires: Instant?
  }

  /// How long a level counts without being asserted again.
  package static let assertionLifetime = Duration.milliseconds(500)

  /// A machine that stood still for so long was suspended: the latch is up, as every other key is
  /// (floor.md: a lost source is a release).
  package static let latchPatience = Duration.seconds(2)

  private var holds = OrderedTable<PressSource, Hold>(limit: 64)
  private var nextOrder: UInt64 = 0

  /// All keys up.
  package init() {}

  /// A source's key is down; false when too many keys are.
  package mutating func assert(_ source: PressSource, _ target: Target, now: Instant) -> Bool {
    let expires = source.isOwned ? nil : now + Self.assertionLifetime
    if let index = holds.index(of: source), holds[at: index].target == target {
      holds[at: index].expires = expires
      return true
    }
    guard holds.index(of: source) != nil || !holds.isFull else { return false }
    nextOrder += 1
    holds[source] = Hold(target: target, order: nextOrder, expires: expires)
    return true
  }

  /// A source's key is up, or the source is gone.
  package mutating func release(_ source: PressSource) { holds[source] = nil }

  /// All keys of a channel are up: the channel is left.
  package mutating func releaseAll(on channel: ChannelID) {
    holds.removeAll { _, hold in hold.target.channel == channel }
  }

  /// True when the source's key is down.
  package func isDown(_ source: PressSource) -> Bool { holds[source] != nil }

  /// Lets go of keys that nobody asserts any more.
  package mutating func expire(now: Instant) {
    holds.removeAll { _, hold in hold.expires.map { $0 <= now } ?? false }
  }

  /// When the next assertion runs out.
  package var deadline: Instant? {
    holds.values.reduce(nil) { .earliest($0, $1.expires) }
  }

  /// What the key that counts wants; nil when all are up.
  package var target: Target? {
    holds.values.max { $0.order < $1.order }?.target
  }
}
