package import TalkCore

/// A rate with a burst, kept as one instant: when the bucket would be full again (the generic cell
/// rate algorithm, ITU-T I.371).
package struct RateLimit {
  private let interval: Duration
  private let tolerance: Duration
  private(set) var full = Instant.zero

  /// A full bucket: `rate` a second, `burst` at once.
  package init(_ limit: (rate: Int, burst: Int)) {
    interval = .nanoseconds(1_000_000_000 / Int64(limit.rate))
    tolerance = interval * (limit.burst - 1)
  }

  /// Takes one if there is one.
  package mutating func take(now: Instant) -> Bool {
    let start = max(full, now)
    guard start - now <= tolerance else { return false }
    full = start + interval
    return true
  }
}

/// Rates of many sources: an IPv4 address, or an IPv6 /64, each.
package struct SourceLimiter {
  private var limits = OrderedTable<Bytes16, RateLimit>(limit: SessionLimits.sources)

  /// No source yet.
  package init() {}

  /// What counts as one source. A link-local address counts whole: all of a link share their /64.
  static func source(of endpoint: Endpoint) -> Bytes16 {
    if endpoint.ipv4 != nil || endpoint.isLinkLocal { return endpoint.address }
    return Bytes16(high: endpoint.address.high, low: 0)
  }

  /// Takes one for the source of `endpoint` if there is one.
  package mutating func take(_ endpoint: Endpoint, now: Instant) -> Bool {
    let source = Self.source(of: endpoint)
    if let index = limits.index(of: source) { return limits[at: index].take(now: now) }
    if limits.isFull { limits.removeAll { _, limit in limit.full <= now } }
    guard !limits.isFull else { return false }
    var limit = RateLimit(SessionLimits.initiationsPerSource)
    let taken = limit.take(now: now)
    limits[source] = limit
    return taken
  }
}
