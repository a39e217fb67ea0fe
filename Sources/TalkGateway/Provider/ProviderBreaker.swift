package import TalkCore

/// Stops asking a server that fails again and again, and asks ever more rarely.
///
/// How to drive it: ask `allows` before each request and tell it what became of it.
package struct ProviderBreaker: Sendable {
  private enum State: Hashable {
    /// Requests pass; so many failed in a row.
    case closed(failures: Int)
    /// None passes until then.
    case open(until: Instant)
    /// One was let through, to see.
    case trying
  }

  private var state = State.closed(failures: 0)
  private var wait = ProviderLimits.breaker.first

  /// A closed breaker.
  package init() {}

  /// True when a request may go out; the one that comes after a wait goes alone.
  package mutating func allows(at now: Instant) -> Bool {
    switch state {
    case .closed: return true
    case .trying: return false
    case .open(let until):
      guard now >= until else { return false }
      state = .trying
      return true
    }
  }

  /// How long nothing passes, while open.
  package func remaining(at now: Instant) -> Duration? {
    if case .open(let until) = state, now < until { until - now } else { nil }
  }

  /// True while one request decides for all.
  package var isTrying: Bool { state == .trying }

  /// The server answered as a server should.
  package mutating func succeeded() {
    state = .closed(failures: 0)
    wait = ProviderLimits.breaker.first
  }

  /// The one that was let through came to no answer: the next may try.
  package mutating func abandoned() {
    if state == .trying { state = .open(until: .zero) }
  }

  /// The server failed.
  package mutating func failed(at now: Instant) {
    switch state {
    case .closed(let failures) where failures + 1 < ProviderLimits.breakerFailures:
      state = .closed(failures: failures + 1)
    case .open: break
    case .closed, .trying:
      state = .open(until: now + wait)
      wait = min(wait * 2, ProviderLimits.breaker.last)
    }
  }
}

/// Devices that Apple wants left alone for a while ("TooManyRequests").
package struct DeviceBackOff: Sendable {
  private struct Rest {
    var until: Instant
    var wait: Duration
  }
  private struct Key: Comparable {
    let token: [UInt8]
    static func < (left: Key, right: Key) -> Bool {
      left.token.lexicographicallyPrecedes(right.token)
    }
  }

  private var table = OrderedTable<Key, Rest>(limit: ProviderLimits.devices)

  /// No device rests.
  package init() {}

  /// How long the device rests still; nil when it does not.
  package func remaining(_ token: [UInt8], at now: Instant) -> Duration? {
    guard !table.isEmpty, let rest = table[Key(token: token)], now < rest.until else { return nil }
    return rest.until - now
  }

  /// Lets a device rest: twice as long as the last time, or as long as the server says.
  package mutating func refused(
    _ token: [UInt8], retryAfter: Duration?, at now: Instant
  ) -> Duration {
    let key = Key(token: token)
    if table.isFull, table[key] == nil {
      table.removeAll { _, rest in rest.until <= now }
    }
    let wait = table[key].map { min($0.wait * 2, ProviderLimits.device.last) }
    let next = max(wait ?? ProviderLimits.device.first, retryAfter ?? .zero)
    table[key] = Rest(until: now + next, wait: min(next, ProviderLimits.device.last))
    return next
  }

  /// A push to the device passed: its rest starts anew the next time.
  package mutating func delivered(_ token: [UInt8]) {
    if !table.isEmpty { table[Key(token: token)] = nil }
  }
}
