package import TalkCore

/// The public half of an identity: two keys, and the names that follow from them (session.md, D6).
package struct PublicIdentity: Hashable, Comparable, Sendable {
  /// The Ed25519 public key.
  package var signing: Key32
  /// The X25519 public key.
  package var agreement: Key32

  /// Makes an identity of its two public keys.
  package init(signing: Key32, agreement: Key32) {
    self.signing = signing
    self.agreement = agreement
  }

  /// The 20 bytes that people compare and invites carry.
  package var fingerprint: Fingerprint {
    var hash = Blake2b(size: 32)
    hash.update("talkaround id v1")
    hash.update(signing)
    hash.update(agreement)
    return Fingerprint(Array(hash.finalize()[..<20]))!
  }

  /// The first 16 bytes of the fingerprint: the name on the wire.
  package var peerID: PeerID { fingerprint.peerID }

  /// Orders by the signing key, then the agreement key.
  package static func < (left: PublicIdentity, right: PublicIdentity) -> Bool {
    (left.signing, left.agreement) < (right.signing, right.agreement)
  }
}

/// Twenty bytes that stand for an identity.
package struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// The first sixteen bytes.
  package var peerID: PeerID
  private var tail: UInt32

  /// Makes a fingerprint of exactly 20 bytes; nil for any other length.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 20 else { return nil }
    peerID = PeerID(Bytes16(bytes))
    tail = bytes[16...].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The twenty bytes, in order.
  package var bytes: [UInt8] {
    peerID.value.bytes + (0..<4).map { UInt8(truncatingIfNeeded: tail >> (24 - 8 * $0)) }
  }

  /// Thirty-two letters of lower-case base32.
  package var description: String { Base32.encode(bytes) }
}

/// Who a node is: the two secret keys and what follows from them.
package final class Identity: Sendable {
  /// What others may know.
  package let publicIdentity: PublicIdentity
  private let signingSeed: Secret
  private let agreementSecret: Secret

  /// Makes an identity of an Ed25519 seed and an X25519 secret of 32 random bytes each; nil for
  /// another length, or when memory for secrets can't be had.
  package init?(
    signingSeed: [UInt8], agreementSecret: [UInt8], memory: Secret.Memory = .guarded
  ) {
    guard let seed = Secret(signingSeed, memory: memory),
      let secret = Secret(agreementSecret, memory: memory)
    else { return nil }
    self.signingSeed = seed
    self.agreementSecret = secret
    publicIdentity = PublicIdentity(
      signing: Ed25519.publicKey(of: signingSeed),
      agreement: X25519.publicKey(of: agreementSecret))
  }

  /// An identity in ordinary memory that follows from a seed of 32 bytes and a salt: for
  /// simulations.
  package static func forSimulation(seed: [UInt8], salt: UInt64) -> Identity {
    var hash = Blake2b(size: 64)
    hash.update("talkaround simulated identity")
    hash.update(seed)
    hash.update(salt, width: 8)
    let bytes = hash.finalize()
    return Identity(
      signingSeed: Array(bytes[..<32]), agreementSecret: Array(bytes[32...]), memory: .ordinary)!
  }

  /// The 64-byte Ed25519 signature of `message`.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    signingSeed.withBytes { Ed25519.sign(message, seed: $0) }
  }

  /// The X25519 secret shared with `other`; nil for a low-order point.
  package func shared(with other: Key32) -> [UInt8]? {
    agreementSecret.withBytes { X25519.shared(secret: $0, with: other) }
  }
}
