import TalkCore

/// The links of a mesh, each direction on its own: what arrives, when, and how often.
///
/// Each link draws from a generator of its own, so that traffic on one does not change the fate of
/// another's. Times are nanoseconds of the world's clock.
package struct SimulatedNetwork: Sendable {
  private struct Link {
    var random: UInt64
    var delay: UInt64
    /// How many cuts are in force.
    var cuts: Int32 = 0
    var isFading = false
    var busyUntil: UInt64 = 0
    var lastArrival: UInt64 = 0
  }

  private let mix: FaultMix
  private let jitter: UInt64
  private let isPlain: Bool
  private var links: [Link]
  /// How many nodes there are.
  package let count: Int
  /// How long the queue of a rate-limited link may get before it drops: 400 ms.
  private static let longestQueue: UInt64 = 400_000_000

  /// Draws the links of a mesh of `count` nodes.
  package init(count: Int, mix: FaultMix, seed: UInt64) {
    self.count = count
    self.mix = mix
    jitter = UInt64(mix.jitter.wholeNanoseconds)
    isPlain = mix.loss == 0 && mix.fadeStart == 0 && mix.duplicates == 0 && mix.rate == 0
    var generator = SeededGenerator(seed: seed ^ 0x11e7_0000_11e7_0001)
    links = []
    links.reserveCapacity(count * count)
    let least = mix.delay.lowerBound.wholeNanoseconds
    let most = mix.delay.upperBound.wholeNanoseconds
    for _ in 0..<count * count {
      let delay = generator.number(in: least...most)
      links.append(Link(random: generator.next(), delay: UInt64(delay)))
    }
    guard mix.hidden > 0, count > 2 else { return }
    for left in 0..<count {
      for right in left + 1..<count where left > 0 && generator.chance(mix.hidden) {
        links[left * count + right].cuts += 1
        links[right * count + left].cuts += 1
      }
    }
  }

  /// Cuts one direction; true when it was whole.
  package mutating func cut(from: Int, to: Int) -> Bool {
    links[from * count + to].cuts += 1
    return links[from * count + to].cuts == 1
  }

  /// Takes one cut away; true when the direction is whole now.
  package mutating func mend(from: Int, to: Int) -> Bool {
    guard links[from * count + to].cuts > 0 else { return false }
    links[from * count + to].cuts -= 1
    return links[from * count + to].cuts == 0
  }

  /// True when datagrams can pass.
  package func passes(from: Int, to: Int) -> Bool { links[from * count + to].cuts == 0 }

  /// When a datagram of `size` bytes arrives: never, once, or twice.
  package mutating func arrivals(
    from: Int, to: Int, size: Int, now: UInt64
  ) -> (first: UInt64?, second: UInt64?) {
    let index = from * count + to
    guard links[index].cuts == 0 else { return (nil, nil) }
    if isPlain { return (arrival(index, now), nil) }
    if mix.loss > 0, fraction(index) < mix.loss { return (nil, nil) }
    if mix.fadeStart > 0, fades(index) { return (nil, nil) }
    var sent = now
    if mix.rate > 0 {
      let start = max(now, links[index].busyUntil)
      guard start - now <= Self.longestQueue else { return (nil, nil) }
      sent = start + UInt64(size * 8) * 1_000_000_000 / UInt64(mix.rate)
      links[index].busyUntil = sent
    }
    let first = arrival(index, sent)
    let doubles = mix.duplicates > 0 && fraction(index) < mix.duplicates
    return (first, doubles ? arrival(index, sent) : nil)
  }

  private mutating func arrival(_ index: Int, _ sent: UInt64) -> UInt64 {
    var at = sent + links[index].delay
    if jitter > 0 { at += UInt64(Double(jitter) * fraction(index)) }
    if mix.keepsOrder {
      at = max(at, links[index].lastArrival)
      links[index].lastArrival = at
    }
    return at
  }

  /// Gilbert's model (1960): a good state that loses nothing and a bad one that loses all.
  private mutating func fades(_ index: Int) -> Bool {
    if links[index].isFading {
      if fraction(index) < mix.fadeEnd { links[index].isFading = false }
    } else if fraction(index) < mix.fadeStart {
      links[index].isFading = true
    }
    return links[index].isFading
  }

  /// SplitMix64 (Steele, Lea, Flood 2014), one a link.
  private mutating func fraction(_ index: Int) -> Double {
    links[index].random &+= 0x9e37_79b9_7f4a_7c15
    var z = links[index].random
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    z ^= z >> 31
    return Double(z >> 11) * 0x1p-53
  }
}
