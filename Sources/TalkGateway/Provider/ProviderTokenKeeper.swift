package import TalkCore

/// Decides which provider token goes out, and when a new one may be made: the machine behind
/// "renewed at 45 min, never more than one in 20 min, over all connections and restarts".
///
/// How to drive it: `restore` what the store holds; before each batch ask `mustMint`, and if so
/// sign one and hand over what then stands by `take`; send with `current`; tell it of Apple's
/// refusals. It reads no clock: `now` is CLOCK_BOOTTIME, and only the store's row needs the wall
/// clock, because nothing else outlives a process.
package struct ProviderTokenKeeper: Sendable {
  /// What to do with a push whose provider token was refused.
  package enum Verdict: Hashable, Sendable {
    /// Send it again: with another token, or with one that is made first.
    case retry
    /// The token is young: the clocks disagree.
    case clock
    /// Send nothing for a while; no token can help.
    case wait
  }

  /// The token that requests carry; nil until there is one, and with a certificate.
  package private(set) var current: ProviderToken?
  private var previous: ProviderToken?
  /// True when a certificate speaks for us, and there are no tokens.
  package let usesCertificate: Bool
  /// The age of `current` when it was taken, and when that was.
  private var ageThen = Duration.zero
  private var taken = Instant.zero
  private var previousAge = Duration.zero
  private var noneBefore = Instant.zero
  private var renewalWanted = false
  /// How many tokens this process had signed and taken.
  package private(set) var minted = 0

  /// A keeper without a token.
  package init(usesCertificate: Bool = false) { self.usesCertificate = usesCertificate }

  /// Takes over what the store held at the start; `unix` is the wall clock in seconds.
  ///
  /// A token from the future (the clock was put back) counts as new: too old a guess would make
  /// tokens too often.
  package mutating func restore(_ token: ProviderToken?, at now: Instant, unix: UInt64) {
    guard let token else { return }
    let age = unix > token.issuedAt ? unix - token.issuedAt : 0
    guard age < UInt64(ProviderLimits.tokenLife.components.seconds) else { return }
    adopt(token, age: .seconds(Int64(age)), at: now)
  }

  private mutating func adopt(_ token: ProviderToken, age: Duration, at now: Instant) {
    (current, ageThen, taken) = (token, age, now)
    noneBefore = now + (ProviderLimits.betweenTokens - age)
    renewalWanted = false
  }

  /// How old `current` is.
  package func age(at now: Instant) -> Duration { ageThen + (now - taken) }

  /// True when a token must be made before the next request goes out.
  package func mustMint(at now: Instant) -> Bool {
    guard !usesCertificate else { return false }
    guard current != nil else { return now >= noneBefore }
    return now >= noneBefore && (renewalWanted || age(at: now) >= ProviderLimits.renewal)
  }

  /// Takes the token that stands after a mint: ours, or that of another gateway, which came first.
  package mutating func take(_ token: ProviderToken, ours: Bool, at now: Instant, unix: UInt64) {
    previous = current
    previousAge = age(at: now)
    let age = ours || unix < token.issuedAt ? 0 : min(unix - token.issuedAt, 3_600)
    adopt(token, age: .seconds(Int64(age)), at: now)
    if ours { minted += 1 }
  }

  /// Notes that no token could be made: none is tried for a while.
  package mutating func mintFailed(at now: Instant) { noneBefore = now + ProviderLimits.probe }

  /// Apple called the token that was issued at `issuedAt` expired.
  package mutating func expired(issuedAt: UInt64, at now: Instant) -> Verdict {
    guard let current else { return .wait }
    if current.issuedAt != issuedAt { return .retry }
    guard now >= noneBefore else { return .clock }
    renewalWanted = true
    return .retry
  }

  /// Apple saw too many new tokens: back to the one before, if it still lives, and no new one for
  /// 20 minutes.
  package mutating func tooManyUpdates(issuedAt: UInt64, at now: Instant) -> Verdict {
    noneBefore = now + ProviderLimits.betweenTokens
    renewalWanted = false
    guard let current else { return .wait }
    if current.issuedAt != issuedAt { return .retry }
    let age = previousAge + (now - taken)
    guard let previous, age < ProviderLimits.tokenLife else { return .wait }
    self.previous = nil
    (self.current, ageThen, taken) = (previous, age, now)
    return .retry
  }
}
