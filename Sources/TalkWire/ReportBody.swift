package import TalkCore

/// A listener's report at the end of a burst (kind report): who heard it.
///
/// Body 33 bytes: token 25, frames heard 4, frames missed 4.
package struct ReportBody: Hashable, Sendable {
  /// Bytes on the wire.
  package static let size = Token.size + 8

  /// The burst's token.
  package var token: Token
  /// How many of its frames came.
  package var heard: UInt32
  /// How many of its frames did not come.
  package var missed: UInt32

  /// Makes a report.
  package init(token: Token, heard: UInt32, missed: UInt32) {
    self.token = token
    self.heard = heard
    self.missed = missed
  }

  /// Reads a report; nil when the bytes do not suffice.
  package init?(from reader: inout ByteReader) {
    guard let token = Token(from: &reader), let heard = reader.u32(), let missed = reader.u32()
    else { return nil }
    self.init(token: token, heard: heard, missed: missed)
  }

  /// Appends the report.
  package func write(to writer: inout ByteWriter) {
    token.write(to: &writer)
    writer.u32(heard)
    writer.u32(missed)
  }
}
