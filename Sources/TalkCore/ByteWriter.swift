/// Writes little-endian numbers and bytes into a buffer of fixed size, in order.
///
/// A write that does not fit writes nothing and sets `failed`; the layouts are ours, so a failure
/// is a mistake of ours that a test finds, never something a peer can cause.
public struct ByteWriter: ~Copyable, ~Escapable {
  private var span: MutableRawSpan
  /// How many bytes have been written.
  public private(set) var offset = 0
  /// True once a write did not fit.
  public private(set) var failed = false

  /// Writes from the start of `span`.
  @_lifetime(copy span)
  public init(_ span: consuming MutableRawSpan) {
    self.span = span
  }

  /// How many bytes are still free.
  public var remaining: Int { span.byteCount - offset }

  /// Appends the low `width` bytes (at most 8) of `value`, little-endian.
  public mutating func number(_ value: UInt64, width: Int) {
    guard !failed, width <= remaining else {
      failed = true
      return
    }
    for index in 0..<width {
      let byte = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
      span.storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
    }
    offset += width
  }

  /// Appends a byte.
  public mutating func u8(_ value: UInt8) { number(UInt64(value), width: 1) }

  /// Appends two bytes, little-endian.
  public mutating func u16(_ value: UInt16) { number(UInt64(value), width: 2) }

  /// Appends four bytes, little-endian.
  public mutating func u32(_ value: UInt32) { number(UInt64(value), width: 4) }

  /// Appends six bytes, little-endian: the width of a turn.
  public mutating func u48(_ value: UInt64) { number(value, width: 6) }

  /// Appends eight bytes, little-endian.
  public mutating func u64(_ value: UInt64) { number(value, width: 8) }

  /// Appends sixteen bytes, in order.
  public mutating func bytes16(_ value: Bytes16) {
    number(value.high.byteSwapped, width: 8)
    number(value.low.byteSwapped, width: 8)
  }

  /// Appends `bytes`.
  public mutating func bytes(_ bytes: [UInt8]) {
    for byte in bytes { u8(byte) }
  }

  /// Appends the bytes of `source`.
  public mutating func bytes(_ source: RawSpan) {
    guard !failed, source.byteCount <= remaining else {
      failed = true
      return
    }
    for index in 0..<source.byteCount {
      let byte = unsafe source.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      span.storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
    }
    offset += source.byteCount
  }

  /// Appends `count` zero bytes.
  public mutating func zeros(_ count: Int) {
    for _ in 0..<count { u8(0) }
  }
}
