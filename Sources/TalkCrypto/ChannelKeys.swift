import CSodium
package import TalkCore

/// The keys that follow from a channel's secret of one epoch, S_n (session.md, "Secrets and names
/// of a channel"): crypto_kdf_derive_from_key(S_n, id, "TalkArnd"). S_n is used for nothing else.
package struct ChannelKeys: Sendable {
  /// PSK_n: the pre-shared key of the handshake.
  package let psk: Secret
  private let macKey: Secret
  private let tagKey: Secret
  /// K_hello: seals HELLOs.
  package let hello: Secret

  /// Derives the keys of a secret of 32 bytes; nil for another length, or when memory for secrets
  /// can't be had.
  package init?(secret: [UInt8], memory: Secret.Memory = .guarded) {
    guard secret.count == 32,
      let psk = Self.derive(1, from: secret, memory),
      let mac = Self.derive(2, from: secret, memory),
      let tag = Self.derive(3, from: secret, memory),
      let hello = Self.derive(6, from: secret, memory)
    else { return nil }
    self.psk = psk
    macKey = mac
    tagKey = tag
    self.hello = hello
  }

  private static func derive(_ id: UInt64, from secret: [UInt8], _ memory: Secret.Memory)
    -> Secret?
  {
    var key = [UInt8](repeating: 0, count: 32)
    defer { Secret.wipe(&key) }
    unsafe crypto_kdf_blake2b_derive_from_key(&key, 32, id, "TalkArnd", secret)
    return Secret(key, memory: memory)
  }

  /// mac1 of a handshake datagram: BLAKE2b-128(K_mac1, bytes before it).
  package func mac1(of bytes: RawSpan) -> Bytes16 {
    macKey.withBytes { key in
      var hash = Blake2b(size: 16, key: key)
      hash.update(bytes)
      return hash.finalize16()
    }
  }

  /// The 8-byte tag by which members recognise a channel: BLAKE2b-64(K_tag, text), the first 8
  /// bytes of 16, read big-endian.
  package func tag(of text: [UInt8]) -> UInt64 {
    tagKey.withBytes { key in
      var hash = Blake2b(size: 16, key: key)
      hash.update(text)
      return hash.finalize16().high
    }
  }
}
