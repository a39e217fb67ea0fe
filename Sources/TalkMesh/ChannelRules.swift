package import TalkCore

/// What a channel's creator has settled for all its members, for good: the last byte of the random
/// part of its name. The channel's UUID follows from that, so nobody can join under other rules.
package struct ChannelRules: OptionSet, Hashable, Sendable {
  /// The bits of the byte.
  package let rawValue: UInt8
  /// Makes rules of their bits; unknown ones are kept and mean nothing.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The floor is used only where a majority of the roster is present (floor.md, "strict channel"):
  /// of a network that is cut in two, one side at most can talk.
  package static let strict = ChannelRules(rawValue: 1)

  /// The rules that a channel's random part names.
  package init(random: Bytes16) { self.init(rawValue: UInt8(truncatingIfNeeded: random.low)) }

  /// A channel's random part: 15 bytes of `random`, and these rules.
  package func mark(_ random: Bytes16) -> Bytes16 {
    Bytes16(high: random.high, low: random.low & ~0xff | UInt64(rawValue))
  }
}
