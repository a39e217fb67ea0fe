import CSodium
package import TalkCore

/// BLAKE2b (RFC 7693) of what is fed to it piece by piece (crypto_generichash(3)).
///
/// The pieces are gathered and hashed at the end: libsodium's streaming state is over-aligned,
/// which Swift cannot import, and what we hash is short.
package struct Blake2b {
  private var message: [UInt8] = []
  private let key: [UInt8]
  private let size: Int

  /// Starts a hash of `size` bytes, 16 to 64 (libsodium documents 16 as its least), keyed if a key
  /// of at most 64 bytes is given.
  package init(size: Int, key: [UInt8] = []) {
    precondition((16...64).contains(size), "BLAKE2b of \(size) bytes")
    precondition(key.count <= 64, "BLAKE2b key of \(key.count) bytes")
    self.size = size
    self.key = key
    message.reserveCapacity(192)
  }

  /// Feeds bytes.
  package mutating func update(_ bytes: [UInt8]) { message += bytes }

  /// Feeds bytes.
  package mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe message.append(contentsOf: $0) }
  }

  /// Feeds the UTF-8 of a domain.
  package mutating func update(_ domain: StaticString) {
    domain.withUTF8Buffer { unsafe message.append(contentsOf: $0) }
  }

  /// Feeds sixteen bytes.
  package mutating func update(_ value: Bytes16) {
    update(value.high.byteSwapped, width: 8)
    update(value.low.byteSwapped, width: 8)
  }

  /// Feeds thirty-two bytes.
  package mutating func update(_ key: Key32) {
    update(key.first)
    update(key.second)
  }

  /// Feeds the low `width` bytes of a number, little-endian.
  package mutating func update(_ value: UInt64, width: Int) {
    for index in 0..<width { message.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }

  /// Ends the hash.
  package func finalize() -> [UInt8] {
    var result = [UInt8](repeating: 0, count: size)
    unsafe crypto_generichash_blake2b(
      &result, size, message, UInt64(message.count), key.isEmpty ? nil : key, key.count)
    return result
  }

  /// Ends a hash of 16 bytes.
  package func finalize16() -> Bytes16 {
    precondition(size == 16, "16 bytes of a hash of \(size)")
    return Bytes16(finalize())
  }

  /// The hash of `bytes` in one call.
  package static func hash(_ bytes: [UInt8], size: Int, key: [UInt8] = []) -> [UInt8] {
    var hash = Blake2b(size: size, key: key)
    hash.update(bytes)
    return hash.finalize()
  }
}

/// HMAC over BLAKE2b with 64 bytes of output and a block of 128 (RFC 2104), and Noise's HKDF over
/// it (Noise rev 34, section 4.3). libsodium 1.0.18 has neither.
package enum HMACBlake2b {
  /// The keyed hash of `message`: 64 bytes.
  package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > 128 ? Blake2b.hash(key, size: 64) : key
    block += [UInt8](repeating: 0, count: 128 - block.count)
    let inner = Blake2b.hash(block.map { $0 ^ 0x36 } + message, size: 64)
    return Blake2b.hash(block.map { $0 ^ 0x5c } + inner, size: 64)
  }

  /// `outputs` (2 or 3) values of 64 bytes from a chaining key and input key material.
  package static func expand(
    chainingKey: [UInt8], material: [UInt8], outputs: Int
  ) -> [[UInt8]] {
    let temporary = authenticate(material, key: chainingKey)
    var results: [[UInt8]] = []
    var last: [UInt8] = []
    for index in 1...outputs {
      last = authenticate(last + [UInt8(index)], key: temporary)
      results.append(last)
    }
    return results
  }
}
