package import TalkCore

/// One signed ADMIT of a channel's roster (kind admit): "`by` says that these keys are a member".
///
/// | field | bytes |
/// |---|---|
/// | version, 1 | 1 |
/// | channel | 16 |
/// | epoch | 8 |
/// | by: who admits | 16 |
/// | by's running number | 8 |
/// | the member's Ed25519 key, X25519 key | 32, 32 |
/// | role | 1 |
/// | classes | 1 |
/// | Ed25519 signature by `by` | 64 |
///
/// What is signed is "talkaround admit v1" ‖ everything between version and signature
/// (session.md, Roster). What role and classes mean is the roster's business.
package struct AdmitBody: Equatable, Sendable {
  /// Bytes on the wire.
  package static let size = 179
  /// The version that this layout has.
  package static let version: UInt8 = 1
  /// The bytes of the layout that are signed.
  package static let signedRange = 1..<115
  /// Bytes of each of the two keys.
  package static let keySize = 32
  /// Bytes of the signature.
  package static let signatureSize = 64

  /// The channel that the member is admitted to.
  package var channel: ChannelID
  /// The epoch of the channel's secret when it was written.
  package var epoch: UInt64
  /// Who admits.
  package var by: PeerID
  /// Rises with each record that `by` writes.
  package var number: UInt64
  /// The member's Ed25519 key, 32 bytes.
  package var signingKey: [UInt8]
  /// The member's X25519 key, 32 bytes.
  package var agreementKey: [UInt8]
  /// The member's role.
  package var role: UInt8
  /// The classes of speech that the member may ask for, as bits.
  package var classes: UInt8
  /// `by`'s Ed25519 signature, 64 bytes.
  package var signature: [UInt8]

  /// Makes a body of its parts; keys and signature of another length write a body that nobody
  /// reads.
  package init(
    channel: ChannelID, epoch: UInt64, by: PeerID, number: UInt64, signingKey: [UInt8],
    agreementKey: [UInt8], role: UInt8, classes: UInt8, signature: [UInt8]
  ) {
    self.channel = channel
    self.epoch = epoch
    self.by = by
    self.number = number
    self.signingKey = signingKey
    self.agreementKey = agreementKey
    self.role = role
    self.classes = classes
    self.signature = signature
  }

  /// Reads a body; nil when the length or the version is wrong.
  package init?(reading span: RawSpan) {
    guard span.byteCount == Self.size else { return nil }
    var reader = ByteReader(span)
    guard reader.u8() == Self.version, let channel = reader.bytes16(), let epoch = reader.u64(),
      let by = reader.bytes16(), let number = reader.u64(),
      let signingKey = reader.bytes(Self.keySize), let agreementKey = reader.bytes(Self.keySize),
      let role = reader.u8(), let classes = reader.u8(),
      let signature = reader.bytes(Self.signatureSize)
    else { return nil }
    self.init(
      channel: ChannelID(channel), epoch: epoch, by: PeerID(by), number: number,
      signingKey: signingKey, agreementKey: agreementKey, role: role, classes: classes,
      signature: signature)
  }

  /// Appends the `size` bytes of the body.
  package func write(to writer: inout ByteWriter) {
    writer.u8(Self.version)
    writer.bytes16(channel.value)
    writer.u64(epoch)
    writer.bytes16(by.value)
    writer.u64(number)
    writer.bytes(signingKey)
    writer.bytes(agreementKey)
    writer.u8(role)
    writer.u8(classes)
    writer.bytes(signature)
  }
}
