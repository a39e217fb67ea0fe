package import TalkCore
import TalkWire

/// One invariant of floor.md, watched over a run's observations.
protocol FloorChecker: Sendable {
  /// The invariant's name in floor.md.
  static var invariant: String { get }
  /// A checker for a run under these conditions.
  init(_ conditions: RunConditions)
  /// Looks at what happens, before `truth` follows it; says what is wrong.
  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String?
  /// Says what is wrong with the run as a whole, at its end.
  mutating func finish(_ truth: GroundTruth) -> String?
}

extension FloorChecker {
  mutating func finish(_ truth: GroundTruth) -> String? { nil }
}

/// A broken invariant.
package struct Violation: Error, Hashable, Sendable {
  /// Its name in floor.md.
  package var invariant: String
  /// When, on the world's clock.
  package var at: Instant
  /// Where, by the node's number.
  package var node: Int
  /// What is wrong.
  package var text: String
}

/// A token in a few characters, for messages of checkers.
func short(_ token: TokenID, _ conditions: RunConditions) -> String {
  "\(token.turn)/\(nodeName(max(conditions.holder(token), 0)))"
}
