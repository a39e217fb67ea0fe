import TalkCrypto

/// Noise's SymmetricState and the CipherState inside it (Noise rev 34, sections 5.1 and 5.2), with
/// BLAKE2b and ChaCha20-Poly1305.
struct SymmetricState {
  /// The hash of everything said so far, 64 bytes.
  private(set) var hash: [UInt8]
  private var chainingKey: [UInt8]
  private var key: [UInt8]?
  private var counter: UInt64 = 0

  init(protocolName: String) {
    let name = Array(protocolName.utf8)
    hash =
      name.count <= 64
      ? name + [UInt8](repeating: 0, count: 64 - name.count) : Blake2b.hash(name, size: 64)
    chainingKey = hash
  }

  /// How many bytes sealing adds now: none before the first key.
  var overhead: Int { key == nil ? 0 : AEAD.tagSize }

  mutating func mixHash(_ bytes: [UInt8]) {
    hash = Blake2b.hash(hash + bytes, size: 64)
  }

  mutating func mixKey(_ material: [UInt8]) {
    let outputs = HMACBlake2b.expand(chainingKey: chainingKey, material: material, outputs: 2)
    chainingKey = outputs[0]
    setKey(outputs[1])
  }

  mutating func mixKeyAndHash(_ material: [UInt8]) {
    let outputs = HMACBlake2b.expand(chainingKey: chainingKey, material: material, outputs: 3)
    chainingKey = outputs[0]
    mixHash(outputs[1])
    setKey(outputs[2])
  }

  private mutating func setKey(_ output: [UInt8]) {
    key = Array(output.prefix(32))
    counter = 0
  }

  mutating func encryptAndHash(_ text: [UInt8]) -> [UInt8] {
    guard let key else {
      mixHash(text)
      return text
    }
    var sealed = text + [UInt8](repeating: 0, count: AEAD.tagSize)
    unsafe hash.withUnsafeBytes { header in
      unsafe sealed.withUnsafeMutableBytes {
        unsafe AEAD.seal($0, count: text.count, header: header, counter: counter, key: key)
      }
    }
    counter += 1
    mixHash(sealed)
    return sealed
  }

  /// Nil when the text was not sealed by the other side in the same state.
  mutating func decryptAndHash(_ sealed: [UInt8]) -> [UInt8]? {
    guard let key else {
      mixHash(sealed)
      return sealed
    }
    guard sealed.count >= AEAD.tagSize else { return nil }
    var text = sealed
    let opened = unsafe hash.withUnsafeBytes { header in
      unsafe text.withUnsafeMutableBytes {
        unsafe AEAD.open($0, header: header, counter: counter, key: key)
      }
    }
    guard opened else { return nil }
    counter += 1
    mixHash(sealed)
    text.removeLast(AEAD.tagSize)
    return text
  }

  /// The keys of the two directions: the initiator's first.
  func split() -> (initiator: Secret, responder: Secret)? {
    var outputs = HMACBlake2b.expand(chainingKey: chainingKey, material: [], outputs: 2)
    defer { for index in outputs.indices { Secret.wipe(&outputs[index]) } }
    guard let first = Secret(Array(outputs[0].prefix(32)), memory: .ordinary),
      let second = Secret(Array(outputs[1].prefix(32)), memory: .ordinary)
    else { return nil }
    return (first, second)
  }

  mutating func wipe() {
    Secret.wipe(&chainingKey)
    if var old = key {
      key = nil
      Secret.wipe(&old)
    }
  }
}
