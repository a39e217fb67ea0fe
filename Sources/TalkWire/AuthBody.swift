package import TalkCore

/// The body of AUTH, the first DATA each way: who the sender is, proved by a signature.
///
/// | bytes | field |
/// |---|---|
/// | 32 | Ed25519 public key |
/// | 32 | X25519 public key: that of the handshake |
/// | 8 | boot instance of the sender's node |
/// | 4 | capabilities: bits for later versions, 0 today |
/// | 4, 4 | the sender's session index, the receiver's |
/// | 1 | bit 0: the sender has the invite, and asks to be admitted |
/// | 1, 32 | bytes of the nickname; the nickname in UTF-8, then zeros |
/// | 16 | digest of the sender's roster |
/// | 64 | Ed25519 signature |
///
/// The boot instance tells a peer that came back under new keys from one that started anew.
package struct AuthBody: Hashable, Sendable {
  /// Bytes of the body.
  package static let size = 198
  /// Flag of the plaintext: the initiator has verified the responder's AUTH, and both may use the
  /// session.
  package static let confirmFlag: UInt8 = 0x01

  /// The Ed25519 public key, 32 bytes.
  package var signingKey: [UInt8]
  /// The X25519 public key, 32 bytes.
  package var agreementKey: [UInt8]
  /// The boot instance of the sender's node.
  package var boot: UInt64
  /// Bits for later versions.
  package var capabilities: UInt32
  /// The sender's session index.
  package var sender: UInt32
  /// The receiver's session index.
  package var receiver: UInt32
  /// True when the sender has the invite and asks to be admitted.
  package var joining: Bool
  /// How the sender wants to be called, at most 32 bytes of UTF-8; not checked for what can be
  /// shown.
  package var nickname: String
  /// Digest of the sender's roster.
  package var rosterDigest: Bytes16
  /// The Ed25519 signature, 64 bytes; what it covers is session.md's, "Life of a session".
  package var signature: [UInt8]

  /// Makes a body; a longer nickname is cut.
  package init(
    signingKey: [UInt8], agreementKey: [UInt8], boot: UInt64, capabilities: UInt32 = 0,
    sender: UInt32, receiver: UInt32, joining: Bool, nickname: String, rosterDigest: Bytes16,
    signature: [UInt8]
  ) {
    self.signingKey = signingKey
    self.agreementKey = agreementKey
    self.boot = boot
    self.capabilities = capabilities
    self.sender = sender
    self.receiver = receiver
    self.joining = joining
    self.nickname = SafeText.cut(nickname)
    self.rosterDigest = rosterDigest
    self.signature = signature
  }

  /// Reads a body; nil when bytes are missing, the nickname is too long or not UTF-8. Bytes behind
  /// it are not looked at: later versions add there.
  package init?(from reader: inout ByteReader) {
    guard let signingKey = reader.bytes(32), let agreementKey = reader.bytes(32),
      let boot = reader.u64(), let capabilities = reader.u32(), let sender = reader.u32(),
      let receiver = reader.u32(), let flags = reader.u8(), let count = reader.u8(),
      Int(count) <= SafeText.nameLimit, let name = reader.bytes(SafeText.nameLimit),
      let nickname = String(validating: name.prefix(Int(count)), as: UTF8.self),
      let rosterDigest = reader.bytes16(), let signature = reader.bytes(64)
    else { return nil }
    self.init(
      signingKey: signingKey, agreementKey: agreementKey, boot: boot, capabilities: capabilities,
      sender: sender, receiver: receiver, joining: flags & 1 != 0, nickname: nickname,
      rosterDigest: rosterDigest, signature: signature)
  }

  /// Appends the body.
  package func write(to writer: inout ByteWriter) {
    writer.bytes(signingKey)
    writer.bytes(agreementKey)
    writer.u64(boot)
    writer.u32(capabilities)
    writer.u32(sender)
    writer.u32(receiver)
    writer.u8(joining ? 1 : 0)
    let name = Array(nickname.utf8)
    writer.u8(UInt8(truncatingIfNeeded: name.count))
    writer.bytes(name)
    writer.zeros(SafeText.nameLimit - name.count)
    writer.bytes16(rosterDigest)
    writer.bytes(signature)
  }
}
