/// Sixteen bytes that compare in byte order and need no memory of their own.
public struct Bytes16: Hashable, Comparable, Sendable {
  /// Bytes 0 to 7, read big-endian, so that comparing numbers compares bytes.
  public var high: UInt64
  /// Bytes 8 to 15, read big-endian.
  public var low: UInt64

  /// Sixteen zero bytes.
  public static let zero = Bytes16(high: 0, low: 0)

  /// Makes the value from its two big-endian halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The first sixteen bytes of `bytes`; traps when there are fewer, so check a length first.
  public init(_ bytes: [UInt8]) {
    precondition(bytes.count >= 16, "Bytes16 from \(bytes.count) bytes")
    var high: UInt64 = 0
    var low: UInt64 = 0
    for index in 0..<8 {
      high = high << 8 | UInt64(bytes[index])
      low = low << 8 | UInt64(bytes[index + 8])
    }
    self.init(high: high, low: low)
  }

  /// Orders by the bytes, the first one first.
  public static func < (left: Bytes16, right: Bytes16) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  /// The sixteen bytes, in order.
  public var bytes: [UInt8] {
    [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
  }

  /// Thirty-two lower-case hex digits.
  public var hex: String {
    [high, low].map { half in
      let digits = String(half, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Reads thirty-two hex digits, in either case; nil for anything else.
  public init?(hex: some StringProtocol) {
    let digits = Array(hex.utf8)
    guard digits.count == 32, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
      return nil
    }
    guard let high = UInt64(hex.prefix(16), radix: 16),
      let low = UInt64(hex.dropFirst(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }
}

/// The identity of a node on the wire: the first 16 bytes of its fingerprint (session.md, D6).
///
/// Names are labels; this is who somebody is.
public struct PeerID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The sixteen bytes.
  public var value: Bytes16

  /// Makes a peer id of its sixteen bytes.
  public init(_ value: Bytes16) { self.value = value }

  /// Orders by the bytes, the first one first.
  public static func < (left: PeerID, right: PeerID) -> Bool { left.value < right.value }

  /// Thirty-two hex digits.
  public var description: String { value.hex }

  /// The first eight hex digits: enough for a person to tell two equal names apart.
  public var short: String { String(value.hex.prefix(8)) }
}

/// The UUID of a channel: a group that talks together.
public struct ChannelID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The sixteen bytes of the UUID.
  public var value: Bytes16

  /// Makes a channel id of its sixteen bytes.
  public init(_ value: Bytes16) { self.value = value }

  /// Orders by the bytes, the first one first.
  public static func < (left: ChannelID, right: ChannelID) -> Bool { left.value < right.value }

  /// The UUID as people write it: 8-4-4-4-12 lower-case hex digits (RFC 9562, section 4).
  public var description: String {
    let digits = Array(value.hex)
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
      .joined(separator: "-")
  }

  /// Reads a UUID as people write it; nil for anything else.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.count) == [8, 4, 4, 4, 12], let value = Bytes16(hex: parts.joined()) else {
      return nil
    }
    self.value = value
  }
}
