import TalkCrypto

/// The hash of what is on disk.
enum Checksum {
  /// BLAKE2b of `bytes` with a digest of `size` bytes.
  static func of(_ bytes: [UInt8], size: Int) -> [UInt8] {
    var hash = Blake2b(size: size)
    hash.update(bytes)
    return hash.finalize()
  }
}
