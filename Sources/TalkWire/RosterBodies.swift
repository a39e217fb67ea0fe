package import TalkCore

/// The end of a push (kind rosterDigest): "these were my records, and this is their digest".
///
/// digest 16, count 2.
package struct RosterDigestBody: Equatable, Sendable {
  /// Bytes on the wire.
  package static let size = 18

  /// The digest of the sender's roster.
  package var digest: Bytes16
  /// How many records the sender pushed.
  package var count: UInt16

  /// Makes a body of its parts.
  package init(digest: Bytes16, count: UInt16) {
    self.digest = digest
    self.count = count
  }

  /// Reads a body; nil when the length is wrong.
  package init?(reading span: RawSpan) {
    guard span.byteCount == Self.size else { return nil }
    var reader = ByteReader(span)
    guard let digest = reader.bytes16(), let count = reader.u16() else { return nil }
    self.init(digest: digest, count: count)
  }

  /// Appends the `size` bytes of the body.
  package func write(to writer: inout ByteWriter) {
    writer.bytes16(digest)
    writer.u16(count)
  }
}

/// Asks a peer for the records of its roster (kind rosterPull).
///
/// digest 16: of the asker's own roster, so that an equal one is answered with the end alone.
package struct RosterPullBody: Equatable, Sendable {
  /// Bytes on the wire.
  package static let size = 16

  /// The digest of the asker's roster.
  package var digest: Bytes16

  /// Makes a body of its digest.
  package init(digest: Bytes16) {
    self.digest = digest
  }

  /// Reads a body; nil when the length is wrong.
  package init?(reading span: RawSpan) {
    guard span.byteCount == Self.size else { return nil }
    var reader = ByteReader(span)
    guard let digest = reader.bytes16() else { return nil }
    self.init(digest: digest)
  }

  /// Appends the `size` bytes of the body.
  package func write(to writer: inout ByteWriter) {
    writer.bytes16(digest)
  }
}
