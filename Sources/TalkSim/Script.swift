import TalkCore
package import TalkWire

/// What will be done to a mesh in one run: presses and faults, drawn from the seed before the run
/// begins, so that a failing run can be shrunk by leaving items out.
package struct Script: Sendable {
  /// One thing that is done.
  package struct Item: Sendable {
    /// Its number in the whole script; kept when others are left out.
    package var number: Int
    /// When, from the start of the run.
    package var at: Duration
    /// What.
    package var what: What
  }

  /// What can be done.
  package enum What: Sendable {
    /// A person presses, talks for `talk` once the floor is theirs, and gives up after `patience`.
    case press(node: Int, FloorClass, talk: Duration, patience: Duration)
    /// A node dies and comes back.
    case crash(node: Int, down: Duration)
    /// Whoever talks dies and comes back.
    case crashTalker(down: Duration)
    /// A node's loop stands still; what comes meanwhile waits.
    case stall(node: Int, length: Duration)
    /// A machine is suspended; what comes meanwhile is lost.
    case suspend(node: Int, length: Duration)
    /// One direction of a link is cut.
    case oneWay(from: Int, to: Int, length: Duration)
    /// All links of a node are cut.
    case outage(node: Int, length: Duration)
    /// All ways to a node are cut.
    case fade(node: Int, length: Duration)
    /// The nodes whose bits are set are cut off from the others.
    case partition(UInt64, length: Duration)
  }

  /// How many nodes there are.
  package var nodes: Int
  /// What is done, by time.
  package var items: [Item]
  /// When workload and faults are over.
  package var end: Duration

  /// Draws a script for `bursts` presses, not counting those that contend, with `nodes` nodes or,
  /// when nil, as many as the mix draws.
  package init(_ mix: FaultMix, seed: UInt64, bursts: Int, nodes fixed: Int? = nil) {
    var generator = SeededGenerator(seed: seed ^ 0x5c21_9f00_7a11_d00d)
    // Drawn in any case, so that fixing the number that would be drawn changes nothing.
    let drawn = generator.number(in: Int64(mix.nodes.lowerBound)...Int64(mix.nodes.upperBound))
    nodes = fixed ?? Int(drawn)
    items = []
    end = .zero
    var time = Duration.milliseconds(1_500)
    for _ in 0..<bursts {
      time += .nanoseconds(generator.exponential(mean: 600_000_000, from: 50_000_000))
      let talk = addPress(mix, at: time, &generator)
      addRivals(mix, at: time, talk: talk, &generator)
      time += talk
    }
    end = time + .milliseconds(500)
    addFaults(mix, &generator)
    items.sort { ($0.at, $0.number) < ($1.at, $1.number) }
  }

  private mutating func add(_ what: What, at time: Duration) {
    items.append(Item(number: items.count, at: time, what: what))
  }

  /// Press lengths as NIST's (Frey, Sun: mean 4.69 s, exponential), cut at 15 s.
  private func talkLength(_ mix: FaultMix, _ generator: inout SeededGenerator) -> Duration {
    if generator.chance(mix.taps) { return .milliseconds(generator.number(in: 30...300)) }
    if generator.chance(mix.marathons) { return .seconds(generator.number(in: 45...75)) }
    return .nanoseconds(
      min(generator.exponential(mean: 4_690_000_000, from: 300_000_000), 15_000_000_000))
  }

  private mutating func addPress(
    _ mix: FaultMix, node: Int? = nil, at time: Duration, _ generator: inout SeededGenerator
  ) -> Duration {
    let node = node ?? Int(generator.number(in: 0...Int64(nodes - 1)))
    let talk = talkLength(mix, &generator)
    let patience = Duration.nanoseconds(
      generator.exponential(mean: 8_000_000_000, from: 200_000_000))
    var floorClass = FloorClass.normal
    if generator.chance(mix.classes) {
      floorClass = FloorClass(rawValue: UInt8(generator.number(in: 1...3)))!
    }
    add(.press(node: node, floorClass, talk: talk, patience: patience), at: time)
    return talk
  }

  private mutating func addRivals(
    _ mix: FaultMix, at time: Duration, talk: Duration, _ generator: inout SeededGenerator
  ) {
    if generator.chance(mix.glare) {
      for _ in 0..<generator.number(in: 1...3) {
        let offset = Duration.microseconds(generator.number(in: 0...30_000))
        _ = addPress(mix, at: time + offset, &generator)
      }
    }
    if generator.chance(mix.contention) {
      for _ in 0..<generator.number(in: 1...2) {
        let offset = talk * generator.fraction()
        _ = addPress(mix, at: time + offset, &generator)
      }
    }
  }

  private mutating func addFaults(_ mix: FaultMix, _ generator: inout SeededGenerator) {
    let minutes = end.milliseconds / 60_000
    func each(_ rate: Double, _ body: (Duration) -> Void) {
      let expected = rate * minutes
      var count = Int(expected)
      if generator.chance(expected - Double(count)) { count += 1 }
      for _ in 0..<count {
        body(.milliseconds(1_200) + (end - .milliseconds(1_200)) * generator.fraction())
      }
    }
    func node() -> Int { Int(generator.number(in: 0...Int64(nodes - 1))) }
    func span(_ range: ClosedRange<Int64>) -> Duration {
      .milliseconds(generator.number(in: range))
    }
    each(mix.outages) { add(.outage(node: node(), length: .milliseconds(300)), at: $0) }
    each(mix.fades) { add(.fade(node: node(), length: span(60...2_000)), at: $0) }
    each(mix.oneWays) {
      let from = node()
      let to = (from + 1 + Int(generator.number(in: 0...Int64(nodes - 2)))) % nodes
      add(.oneWay(from: from, to: to, length: span(100...3_000)), at: $0)
    }
    each(mix.partitions) {
      let mask = generator.next() & (nodes >= 64 ? .max : 1 << UInt64(nodes) - 1)
      add(.partition(mask, length: span(200...8_000)), at: $0)
    }
    each(mix.crashes) {
      let down = span(200...8_000)
      add(
        generator.chance(0.5) ? .crashTalker(down: down) : .crash(node: node(), down: down), at: $0)
    }
    each(mix.stalls) { add(.stall(node: node(), length: span(50...2_000)), at: $0) }
    each(mix.suspends) { add(.suspend(node: node(), length: span(1_000...15_000)), at: $0) }
  }
}

extension SeededGenerator {
  /// True with this probability.
  mutating func chance(_ part: Double) -> Bool { part > 0 && fraction() < part }

  /// A whole number in `range`, evenly.
  mutating func number(in range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  /// An exponentially distributed number of this mean, at least `from`.
  mutating func exponential(mean: Double, from: Int64) -> Int64 {
    from + Int64(-Platform.logarithm(1 - fraction()) * max(mean - Double(from), 1))
  }
}
