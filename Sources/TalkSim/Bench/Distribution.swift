import TalkCore

/// Measured times, for their percentiles.
package struct Distribution: Sendable {
  /// The samples, in the order they were taken.
  package private(set) var samples: [Duration] = []

  /// No sample yet.
  package init() {}

  /// Takes one more.
  package mutating func add(_ sample: Duration) { samples.append(sample) }

  /// Takes all of another's.
  package mutating func add(_ other: Distribution) { samples += other.samples }

  /// How many there are.
  package var count: Int { samples.count }

  /// The least sample that at least `part` of all (0 to 1) do not exceed (nearest rank); nil
  /// without samples.
  package func percentile(_ part: Double) -> Duration? {
    guard !samples.isEmpty else { return nil }
    let rank = Int((part * Double(samples.count)).rounded(.up))
    return samples.sorted()[min(max(rank, 1), samples.count) - 1]
  }

  /// The largest sample; nil without samples.
  package var longest: Duration? { samples.max() }
}
