import CSodium

/// Authenticated encryption in place, over memory that the caller owns.
package enum AEAD {
  /// Bytes that a seal adds.
  package static let tagSize = 16

  /// ChaCha20-Poly1305-IETF (RFC 8439): encrypts the first `count` bytes of `text` and puts the tag
  /// behind them. The nonce is four zero bytes and the counter, little-endian.
  package static func seal(
    _ text: UnsafeMutableRawBufferPointer, count: Int, header: UnsafeRawBufferPointer,
    counter: UInt64, key: UnsafePointer<UInt8>
  ) {
    precondition(count + tagSize <= text.count, "no room for the tag")
    var nonce: (UInt32, UInt64, UInt64) = (0, 0, 0)
    unsafe withNonce(&nonce, counter: counter) { nonce in
      let bytes = unsafe text.bindMemory(to: UInt8.self).baseAddress!
      let headerBytes = unsafe header.bindMemory(to: UInt8.self).baseAddress
      _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
        bytes, nil, bytes, UInt64(count), headerBytes, UInt64(header.count), nil, nonce, key)
    }
  }

  /// Opens what `seal` made, tag included; the plaintext is the first bytes. False, and the bytes
  /// are of no use, when it was not made with this key, counter and header.
  package static func open(
    _ text: UnsafeMutableRawBufferPointer, header: UnsafeRawBufferPointer, counter: UInt64,
    key: UnsafePointer<UInt8>
  ) -> Bool {
    guard text.count >= tagSize else { return false }
    var nonce: (UInt32, UInt64, UInt64) = (0, 0, 0)
    return unsafe withNonce(&nonce, counter: counter) { nonce in
      let bytes = unsafe text.bindMemory(to: UInt8.self).baseAddress!
      let headerBytes = unsafe header.bindMemory(to: UInt8.self).baseAddress
      return unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
        bytes, nil, nil, bytes, UInt64(text.count), headerBytes, UInt64(header.count), nonce,
        key) == 0
    }
  }

  private static func withNonce<Result>(
    _ storage: inout (UInt32, UInt64, UInt64), counter: UInt64,
    _ body: (UnsafePointer<UInt8>) -> Result
  ) -> Result {
    unsafe withUnsafeMutableBytes(of: &storage) { buffer in
      unsafe buffer.storeBytes(of: UInt32(0), toByteOffset: 0, as: UInt32.self)
      unsafe buffer.storeBytes(of: counter.littleEndian, toByteOffset: 4, as: UInt64.self)
      return unsafe body(buffer.bindMemory(to: UInt8.self).baseAddress!)
    }
  }

  /// XChaCha20-Poly1305-IETF with a random nonce of 24 bytes: returns ciphertext and tag.
  package static func sealX(_ text: [UInt8], header: [UInt8], nonce: [UInt8], key: [UInt8])
    -> [UInt8]
  {
    precondition(nonce.count == 24 && key.count == 32, "XChaCha20 nonce or key length")
    var sealed = [UInt8](repeating: 0, count: text.count + tagSize)
    unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, text, UInt64(text.count), header, UInt64(header.count), nil, nonce, key)
    return sealed
  }

  /// Opens what `sealX` made; nil when it was not made with this key, nonce and header.
  package static func openX(_ sealed: [UInt8], header: [UInt8], nonce: [UInt8], key: [UInt8])
    -> [UInt8]?
  {
    guard sealed.count >= tagSize, nonce.count == 24, key.count == 32 else { return nil }
    var text = [UInt8](repeating: 0, count: sealed.count - tagSize)
    let failed = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      &text, nil, nil, sealed, UInt64(sealed.count), header, UInt64(header.count), nonce, key)
    return failed == 0 ? text : nil
  }
}
