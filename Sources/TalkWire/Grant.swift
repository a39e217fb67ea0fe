package import TalkCore

/// A signed passing of the floor from one token to the next.
///
/// On the wire 122 bytes: granting token 25, granted token 25, request id 8, signature 64. The
/// signature is Ed25519 by the granting holder over "talkaround grant v1" ‖ channel ‖ granting
/// token ‖ granted token ‖ request id, so any member can pass it on and none can forge it.
package struct Grant: Hashable, Sendable {
  /// The token whose holder grants.
  package var from: Token
  /// The token that is granted.
  package var to: Token
  /// The request that is answered; 0 hands over an idle floor to keep.
  package var request: UInt64
  /// The 64 bytes of the signature.
  package var signature: Signature64

  /// Makes a grant of its parts; whoever receives one verifies it.
  package init(from: Token, to: Token, request: UInt64, signature: Signature64) {
    self.from = from
    self.to = to
    self.request = request
    self.signature = signature
  }

  /// Bytes on the wire.
  package static let size = 2 * Token.size + 8 + 64

  /// Reads a grant; nil when the bytes do not suffice.
  package init?(from reader: inout ByteReader) {
    guard let from = Token(from: &reader), let to = Token(from: &reader),
      let request = reader.u64(), let signature = Signature64(from: &reader)
    else { return nil }
    self.init(from: from, to: to, request: request, signature: signature)
  }

  /// Appends the grant.
  package func write(to writer: inout ByteWriter) {
    from.write(to: &writer)
    to.write(to: &writer)
    writer.u64(request)
    signature.write(to: &writer)
  }

  /// The bytes that are signed, on `channel`.
  package func signedBytes(channel: ChannelID) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.domain.count + 16 + 2 * Token.size + 8)
    var span = bytes.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    writer.bytes(Self.domain)
    writer.bytes16(channel.value)
    from.write(to: &writer)
    to.write(to: &writer)
    writer.u64(request)
    return bytes
  }

  private static let domain = Array("talkaround grant v1".utf8)
}

/// The 64 bytes of an Ed25519 signature, without memory of their own.
package struct Signature64: Hashable, Sendable {
  private var parts: (Bytes16, Bytes16, Bytes16, Bytes16)

  /// No signature.
  package static let zero = Signature64([UInt8](repeating: 0, count: 64))!

  /// Makes a signature of exactly 64 bytes; nil for any other length.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 64 else { return nil }
    parts = (
      Bytes16(Array(bytes[0..<16])), Bytes16(Array(bytes[16..<32])),
      Bytes16(Array(bytes[32..<48])), Bytes16(Array(bytes[48..<64]))
    )
  }

  /// Reads 64 bytes.
  package init?(from reader: inout ByteReader) {
    guard let a = reader.bytes16(), let b = reader.bytes16(), let c = reader.bytes16(),
      let d = reader.bytes16()
    else { return nil }
    parts = (a, b, c, d)
  }

  /// The 64 bytes.
  package var bytes: [UInt8] { parts.0.bytes + parts.1.bytes + parts.2.bytes + parts.3.bytes }

  /// Appends the 64 bytes.
  package func write(to writer: inout ByteWriter) {
    writer.bytes16(parts.0)
    writer.bytes16(parts.1)
    writer.bytes16(parts.2)
    writer.bytes16(parts.3)
  }

  /// True when both are the same bytes.
  package static func == (left: Signature64, right: Signature64) -> Bool {
    left.parts == right.parts
  }

  /// Feeds the bytes that tell signatures apart.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(parts.0)
    hasher.combine(parts.3)
  }
}
