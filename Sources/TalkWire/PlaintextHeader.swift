package import TalkCore

/// The first bytes of an opened DATA datagram: kind 1, flags 1, length 2; then the body and zeros.
///
/// Reading takes no memory even in a debug build: every frame passes here.
package struct PlaintextHeader: Hashable, Sendable {
  /// The number of the kind; a later version may know more than `Kind` does.
  package var kind: UInt8
  /// What the bits mean is the kind's business.
  package var flags: UInt8
  /// Bytes of the body.
  package var length: Int

  /// Makes a header; a body has fewer than 65,536 bytes.
  package init(kind: UInt8, flags: UInt8, length: Int) {
    self.kind = kind
    self.flags = flags
    self.length = length
  }

  /// Reads the header at the start of a plaintext; nil when the body would not fit, or when a
  /// padding byte is not zero.
  package init?(_ plaintext: RawSpan) {
    guard plaintext.byteCount >= Plaintext.headerSize else { return nil }
    kind = unsafe plaintext.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    flags = unsafe plaintext.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
    let number = unsafe plaintext.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self)
    length = Int(UInt16(littleEndian: number))
    var index = Plaintext.headerSize + length
    guard index <= plaintext.byteCount else { return nil }
    while index < plaintext.byteCount {
      guard unsafe plaintext.unsafeLoad(fromByteOffset: index, as: UInt8.self) == 0 else {
        return nil
      }
      index += 1
    }
  }

  /// Appends the four bytes.
  package func write(to writer: inout ByteWriter) {
    writer.u8(kind)
    writer.u8(flags)
    writer.u16(UInt16(truncatingIfNeeded: length))
  }
}
