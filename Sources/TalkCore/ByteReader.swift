/// Reads little-endian numbers and byte ranges from untrusted bytes, in order.
///
/// Every read returns nil once the bytes do not suffice, and then `failed` stays true, so a parser
/// can read all its fields and check once. Nothing here traps on any input.
public struct ByteReader: ~Escapable {
  private let span: RawSpan
  /// How many bytes have been read.
  public private(set) var offset = 0
  /// True once a read asked for more than there was.
  public private(set) var failed = false

  /// Reads from the start of `span`.
  @_lifetime(copy span)
  public init(_ span: RawSpan) {
    self.span = span
  }

  /// How many bytes are left.
  public var remaining: Int { span.byteCount - offset }

  /// The next `count` bytes as a range of what is read.
  public mutating func range(_ count: Int) -> Range<Int>? {
    guard !failed, count >= 0, count <= remaining else {
      failed = true
      return nil
    }
    defer { offset += count }
    return offset..<offset + count
  }

  /// The next `width` bytes (at most 8) as a little-endian number.
  public mutating func number(width: Int) -> UInt64? {
    guard let range = range(width) else { return nil }
    var value: UInt64 = 0
    // A plain loop: this is on the path of every frame, where even a debug build allocates nothing.
    var index = range.upperBound
    while index > range.lowerBound {
      index -= 1
      value = value << 8 | UInt64(unsafe span.unsafeLoad(fromByteOffset: index, as: UInt8.self))
    }
    return value
  }

  /// The next byte.
  public mutating func u8() -> UInt8? { number(width: 1).map(UInt8.init(truncatingIfNeeded:)) }

  /// The next two bytes, little-endian.
  public mutating func u16() -> UInt16? { number(width: 2).map(UInt16.init(truncatingIfNeeded:)) }

  /// The next four bytes, little-endian.
  public mutating func u32() -> UInt32? { number(width: 4).map(UInt32.init(truncatingIfNeeded:)) }

  /// The next six bytes, little-endian: the width of a turn.
  public mutating func u48() -> UInt64? { number(width: 6) }

  /// The next eight bytes, little-endian.
  public mutating func u64() -> UInt64? { number(width: 8) }

  /// The next sixteen bytes, in order.
  public mutating func bytes16() -> Bytes16? {
    guard let high = number(width: 8), let low = number(width: 8) else { return nil }
    return Bytes16(high: high.byteSwapped, low: low.byteSwapped)
  }

  /// The next `count` bytes, copied.
  public mutating func bytes(_ count: Int) -> [UInt8]? {
    guard let range = range(count) else { return nil }
    return range.map { unsafe span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
  }

  /// Skips `count` bytes and says whether all were zero.
  public mutating func zeros(_ count: Int) -> Bool {
    guard let range = range(count) else { return false }
    return range.allSatisfy { unsafe span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 }
  }
}
