import CSodium

/// X25519 (RFC 7748; crypto_scalarmult(3)).
package enum X25519 {
  /// The public key of a secret scalar of 32 bytes.
  package static func publicKey(of secret: [UInt8]) -> Key32 {
    precondition(secret.count == 32, "X25519 secret of \(secret.count) bytes")
    var result = [UInt8](repeating: 0, count: 32)
    unsafe crypto_scalarmult_curve25519_base(&result, secret)
    return Key32(result)!
  }

  /// The shared secret; nil for a low-order point, which libsodium reports and we must refuse.
  package static func shared(secret: [UInt8], with other: Key32) -> [UInt8]? {
    precondition(secret.count == 32, "X25519 secret of \(secret.count) bytes")
    var result = [UInt8](repeating: 0, count: 32)
    return unsafe crypto_scalarmult_curve25519(&result, secret, other.bytes) == 0 ? result : nil
  }
}

/// Ed25519 (RFC 8032; crypto_sign_detached(3)).
package enum Ed25519 {
  /// The public key of a seed of 32 bytes.
  package static func publicKey(of seed: [UInt8]) -> Key32 {
    Key32(keyPair(seed).publicKey)!
  }

  /// The 64-byte signature of `message` by the key of `seed`.
  package static func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] {
    var secret = keyPair(seed).secretKey
    var signature = [UInt8](repeating: 0, count: 64)
    unsafe crypto_sign_ed25519_detached(
      &signature, nil, message, UInt64(message.count), secret)
    unsafe sodium_memzero(&secret, secret.count)
    return signature
  }

  /// True when `signature` is one of `message` by `key`.
  package static func verify(_ signature: [UInt8], of message: [UInt8], by key: Key32) -> Bool {
    guard signature.count == 64 else { return false }
    return unsafe crypto_sign_ed25519_verify_detached(
      signature, message, UInt64(message.count), key.bytes) == 0
  }

  private static func keyPair(_ seed: [UInt8]) -> (publicKey: [UInt8], secretKey: [UInt8]) {
    precondition(seed.count == 32, "Ed25519 seed of \(seed.count) bytes")
    var publicKey = [UInt8](repeating: 0, count: 32)
    var secretKey = [UInt8](repeating: 0, count: 64)
    unsafe crypto_sign_ed25519_seed_keypair(&publicKey, &secretKey, seed)
    return (publicKey, secretKey)
  }
}
