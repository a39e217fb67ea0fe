package import TalkCore

/// The first bytes of an opened DATA datagram: kind 1, flags 1, length 2; then the body and zeros.
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
    var reader = ByteReader(plaintext)
    guard let kind = reader.u8(), let flags = reader.u8(), let length = reader.u16(),
      reader.range(Int(length)) != nil, reader.zeros(reader.remaining)
    else { return nil }
    self.init(kind: kind, flags: flags, length: Int(length))
  }

  /// Appends the four bytes.
  package func write(to writer: inout ByteWriter) {
    writer.u8(kind)
    writer.u8(flags)
    writer.u16(UInt16(truncatingIfNeeded: length))
  }
}
