package import TalkCore
package import TalkCrypto

/// Our record in mDNS (`_talkaround._udp`): members recognise it, strangers can't link channel,
/// person or restart (mesh.md, "mDNS record").
///
/// TXT: `v=1`, and `t=` with sixteen raw tags of 8 bytes, BLAKE2b-64(K_tag, instance) for each
/// channel and then random decoys; 135 bytes with their length bytes.
package struct ServiceRecord: Equatable, Sendable {
  /// The tags in one record; channels beyond it are not announced.
  package static let tagCount = 16
  private static let tagSize = 8

  /// The instance's name: 16 random hex digits.
  package let instance: String
  /// The TXT record's strings.
  package let txt: [[UInt8]]

  /// Makes a fresh record for the channels of `keys`; nil when the entropy pool is too empty.
  package init?(keys: [ChannelKeys], entropy: inout EntropyPool) {
    let told = keys.prefix(Self.tagCount)
    guard let name = entropy.drawNumber(),
      let decoys = entropy.draw((Self.tagCount - told.count) * Self.tagSize)
    else { return nil }
    let digits = String(name, radix: 16)
    instance = String(repeating: "0", count: 16 - digits.count) + digits
    let text = Array(instance.utf8)
    let tags = told.flatMap { Hello.bigEndian($0.tag(of: text)) }
    txt = [Array("v=1".utf8), Array("t=".utf8) + tags + decoys]
  }

  /// The channels of ours that a record found in mDNS announces; empty for a malformed record and
  /// for strangers'. Anybody can copy a record: a match says whom to try, never who is there.
  package static func matches(
    txt: [[UInt8]], instance: String, channels: [(channel: ChannelID, keys: ChannelKeys)]
  ) -> [ChannelID] {
    let text = Array(instance.utf8.prefix(17))
    guard text.count == 16, text.allSatisfy(isHexDigit), txt.contains(Array("v=1".utf8)),
      let field = txt.first(where: { $0.starts(with: Array("t=".utf8)) }),
      field.count == 2 + tagCount * tagSize
    else { return [] }
    let tags = (0..<tagCount).map { Array(field[(2 + $0 * tagSize)..<(2 + ($0 + 1) * tagSize)]) }
    return channels.filter { tags.contains(Hello.bigEndian($0.keys.tag(of: text))) }
      .map(\.channel)
  }

  private static func isHexDigit(_ letter: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(letter)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(letter)
  }
}

/// When to publish a fresh `ServiceRecord`: at the start, at a network change, and every 24 h.
///
/// Drive it so: at `deadline` call `isDue`, and publish a new record when it says true; `restart`
/// on a network change, and when the set of channels changes.
package struct ServiceRecordSchedule: Sendable {
  /// How long one record lives.
  package static let lifetime: Duration = .seconds(24 * 3_600)

  /// When the next record is due.
  package private(set) var deadline: Instant

  /// The first record is due at `now`.
  package init(now: Instant) { deadline = now }

  /// A fresh record is due at `now`.
  package mutating func restart(now: Instant) { deadline = now }

  /// Whether a fresh record is due; if so the next one is planned.
  package mutating func isDue(now: Instant) -> Bool {
    guard deadline <= now else { return false }
    deadline = now + Self.lifetime
    return true
  }
}
