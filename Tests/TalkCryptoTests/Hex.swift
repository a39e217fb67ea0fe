/// Bytes of hex digits; spaces and line breaks are for the reader.
func hex(_ text: String) -> [UInt8] {
  let digits = Array(text.filter { !$0.isWhitespace })
  return stride(from: 0, to: digits.count, by: 2).map {
    UInt8(String(digits[$0...$0 + 1]), radix: 16)!
  }
}

/// `count` rising bytes from `first`.
func rising(_ count: Int, from first: UInt8 = 0) -> [UInt8] {
  (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
}
