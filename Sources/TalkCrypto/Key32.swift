package import TalkCore

/// Thirty-two bytes of a key or hash, without memory of their own.
package struct Key32: Hashable, Comparable, Sendable {
  /// Bytes 0 to 15.
  package var first: Bytes16
  /// Bytes 16 to 31.
  package var second: Bytes16

  /// Makes a key of its halves.
  package init(first: Bytes16, second: Bytes16) {
    self.first = first
    self.second = second
  }

  /// Makes a key of exactly 32 bytes; nil for any other length.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.init(first: Bytes16(bytes), second: Bytes16(Array(bytes[16...])))
  }

  /// Reads 32 bytes.
  package init?(from reader: inout ByteReader) {
    guard let first = reader.bytes16(), let second = reader.bytes16() else { return nil }
    self.init(first: first, second: second)
  }

  /// Appends the 32 bytes.
  package func write(to writer: inout ByteWriter) {
    writer.bytes16(first)
    writer.bytes16(second)
  }

  /// The 32 bytes, in order.
  package var bytes: [UInt8] { first.bytes + second.bytes }

  /// Orders by the bytes, the first one first.
  package static func < (left: Key32, right: Key32) -> Bool {
    (left.first, left.second) < (right.first, right.second)
  }
}
