import CSodium

/// SHA-256 (FIPS 180-4; crypto_hash_sha256(3)): for what a phone's own libraries must check.
package enum SHA256 {
  /// The 32-byte hash of `bytes`.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: 32)
    unsafe crypto_hash_sha256(&result, bytes, UInt64(bytes.count))
    return result
  }
}
