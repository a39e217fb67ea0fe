import TalkCore

/// Who the node is: its two secret keys and its nickname, and the machine they were made on.
package struct StoredIdentity: Equatable, Sendable {
  /// Bytes of either key's secret.
  package static let secretSize = 32

  /// The seed of the Ed25519 signing key, 32 bytes.
  package var signingSeed: SecretBytes
  /// The X25519 secret, 32 bytes.
  package var agreementSecret: SecretBytes
  /// The node's own name as it was given, at most 32 bytes of UTF-8; never a derived one.
  package var nickname: String
  /// `MachineID.hash()` of the machine that made the keys; all zero where it has none.
  package var machine: [UInt8]

  /// An identity of its parts; the nickname is cut to 32 bytes at a whole character. Traps unless
  /// both secrets have 32 bytes and `machine` 16: they come from our own code.
  package init(
    signingSeed: SecretBytes, agreementSecret: SecretBytes, nickname: String, machine: [UInt8]
  ) {
    precondition(
      signingSeed.count == Self.secretSize && agreementSecret.count == Self.secretSize
        && machine.count == MachineID.size, "sizes of an identity's parts")
    self.signingSeed = signingSeed
    self.agreementSecret = agreementSecret
    self.nickname = SafeText.cut(nickname)
    self.machine = machine
  }

  func encode() -> [UInt8] {
    var writer = RecordWriter(capacity: 128)
    writer.secret(signingSeed)
    writer.secret(agreementSecret)
    writer.raw(machine)
    writer.text(nickname)
    return writer.bytes
  }

  static func decode(_ span: RawSpan) -> StoredIdentity? {
    var reader = ByteReader(span)
    guard let seed = reader.secret(secretSize), let agreement = reader.secret(secretSize),
      let machine = reader.bytes(MachineID.size),
      let nickname = reader.text(limit: SafeText.nameLimit), reader.isComplete
    else { return nil }
    return StoredIdentity(
      signingSeed: seed, agreementSecret: agreement, nickname: nickname, machine: machine)
  }

  /// True when the identity was made on another machine than `machine`: the disk was cloned or
  /// moved, and two nodes may now speak as one. A machine without an id says nothing.
  package func isElsewhere(than machine: [UInt8]) -> Bool {
    let unknown = [UInt8](repeating: 0, count: MachineID.size)
    return self.machine != machine && self.machine != unknown && machine != unknown
  }
}
