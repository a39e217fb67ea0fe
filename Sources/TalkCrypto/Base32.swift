/// Base32 (RFC 4648, section 6) without padding: lower case for lines, upper case for QR codes,
/// read in any case.
package enum Base32 {
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  /// The text of `bytes`.
  package static func encode(_ bytes: [UInt8], upperCase: Bool = false) -> String {
    var result: [UInt8] = []
    var pending: UInt32 = 0
    var bits = 0
    for byte in bytes {
      pending = pending << 8 | UInt32(byte)
      bits += 8
      while bits >= 5 {
        bits -= 5
        result.append(alphabet[Int(pending >> UInt32(bits) & 31)])
      }
    }
    if bits > 0 { result.append(alphabet[Int(pending << UInt32(5 - bits) & 31)]) }
    let text = String(decoding: result, as: UTF8.self)
    return upperCase ? text.uppercased() : text
  }

  /// The bytes of `text`; nil for a letter outside the alphabet, an impossible length, or loose
  /// bits at the end.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var result: [UInt8] = []
    var pending: UInt32 = 0
    var bits = 0
    for letter in text.utf8 {
      let value: UInt8
      switch letter {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = letter - UInt8(ascii: "a")
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = letter - UInt8(ascii: "A")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): value = letter - UInt8(ascii: "2") + 26
      default: return nil
      }
      pending = pending << 5 | UInt32(value)
      bits += 5
      if bits >= 8 {
        bits -= 8
        result.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
        pending &= (1 << UInt32(bits)) - 1
      }
    }
    return bits < 5 && pending == 0 ? result : nil
  }
}
