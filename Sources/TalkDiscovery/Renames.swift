/// How often another name is taken because somebody else has ours: a responder that defends every
/// name would have us probe for ever.
package struct Renames: Sendable {
  /// The most new names in a row.
  package static let limit = 5

  private var inARow = 0

  /// None yet.
  package init() {}

  /// What to do about a name that is taken.
  package enum Answer: Hashable, Sendable {
    /// Take another one.
    case rename
    /// Give up, and say so.
    case giveUp
    /// Given up already.
    case quiet
  }

  /// Somebody else has our name.
  package mutating func collided() -> Answer {
    inARow += 1
    if inARow <= Self.limit { return .rename }
    return inARow == Self.limit + 1 ? .giveUp : .quiet
  }

  /// Our name is registered.
  package mutating func registered() { inARow = 0 }
}
