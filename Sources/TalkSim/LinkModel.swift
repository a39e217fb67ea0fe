package import TalkCore

/// How the simulated network treats datagrams: delay, jitter, independent loss, duplicates, cuts.
package struct LinkModel: Sendable {
  /// The least delay of a datagram.
  package var delay: Duration
  /// Up to this much more, evenly spread; larger than the gaps between datagrams, it reorders them.
  package var jitter: Duration
  /// The part of the datagrams that is lost, 0 to 1.
  package var loss: Double
  /// The part of the datagrams that comes twice, 0 to 1.
  package var duplicates: Double
  private var cuts: [(from: Int, to: Int)] = []

  /// A network of this quality, with no cuts.
  package init(
    delay: Duration = .milliseconds(1), jitter: Duration = .zero, loss: Double = 0,
    duplicates: Double = 0
  ) {
    self.delay = delay
    self.jitter = jitter
    self.loss = loss
    self.duplicates = duplicates
  }

  /// Cuts the way from one host to another, one direction only.
  package mutating func cut(from: Int, to: Int) { cuts.append((from, to)) }

  /// Cuts both ways between two hosts.
  package mutating func cut(_ left: Int, _ right: Int) {
    cut(from: left, to: right)
    cut(from: right, to: left)
  }

  /// Heals all cuts.
  package mutating func heal() { cuts.removeAll() }

  /// True when datagrams can pass from one host to another.
  package func passes(from: Int, to: Int) -> Bool {
    !cuts.contains { $0.from == from && $0.to == to }
  }

  /// When a datagram sent at `now` arrives: never, once, or twice.
  package func arrivals(
    from: Int, to: Int, now: Instant, generator: inout SeededGenerator
  ) -> [Instant] {
    guard passes(from: from, to: to), generator.fraction() >= loss else { return [] }
    func arrival() -> Instant {
      let extra = Double(jitter.wholeNanoseconds) * generator.fraction()
      return now + delay + .nanoseconds(Int64(extra))
    }
    let first = arrival()
    return generator.fraction() < duplicates ? [first, arrival()] : [first]
  }
}
