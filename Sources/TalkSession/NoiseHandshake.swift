package import TalkCrypto

/// Why a handshake message was not written or read.
package enum NoiseError: Error, Hashable {
  /// The message is too short for its pattern: the sender's fault; drop it.
  case tooShort
  /// A tag is wrong: another channel secret, epoch or partner, or a forger; drop it.
  case forged
  /// The sender's public key is of low order: drop it.
  case weakKey
  /// A message was written or read out of turn, or a key that the pattern needs is missing: our own
  /// mistake.
  case outOfTurn
}

/// One side of one Noise handshake (Noise rev 34, section 5.3): an interpreter of message patterns.
///
/// Drive it: `write` and `read` in turn until `isComplete`, then `split` once. A message that can't
/// be read leaves the handshake as it was, so a forged one can't spoil it. What is secret is zeroed
/// when the object goes.
package final class NoiseHandshake {
  private struct State {
    var symmetric: SymmetricState
    var next = 0
    var preSharedKeysUsed = 0
    var remoteEphemeral: Key32?
    var remoteStatic: Key32?
  }

  private let pattern: NoisePattern
  private let role: NoiseRole
  private let identity: Identity?
  private var preSharedKeys: [[UInt8]]
  private var ephemeral: [UInt8]
  private let ephemeralPublic: Key32
  private var state: State

  /// Starts a handshake.
  ///
  /// - Parameters:
  ///   - prologue: what both sides must agree on besides.
  ///   - preSharedKeys: 32 bytes for each `psk` token, in order.
  ///   - identity: whose agreement key is our static key; nil where the pattern has none.
  ///   - ephemeral: 32 fresh random bytes, for this handshake alone.
  ///   - remoteStatic: the other's static key where the pattern says that we know it.
  package init?(
    pattern: NoisePattern, role: NoiseRole, prologue: [UInt8], preSharedKeys: [[UInt8]],
    identity: Identity?, ephemeral: [UInt8], remoteStatic: Key32? = nil
  ) {
    guard ephemeral.count == 32 else { return nil }
    self.pattern = pattern
    self.role = role
    self.identity = identity
    self.preSharedKeys = preSharedKeys
    self.ephemeral = ephemeral
    ephemeralPublic = X25519.publicKey(of: ephemeral)
    state = State(
      symmetric: SymmetricState(protocolName: pattern.protocolName), remoteStatic: remoteStatic)
    state.symmetric.mixHash(prologue)
    for (side, tokens) in [
      (NoiseRole.initiator, pattern.initiatorPre), (.responder, pattern.responderPre),
    ] where tokens.contains(.s) {
      let ours = side == role ? identity?.publicIdentity.agreement : remoteStatic
      guard let key = ours else { return nil }
      state.symmetric.mixHash(key.bytes)
    }
  }

  deinit {
    for index in preSharedKeys.indices { Secret.wipe(&preSharedKeys[index]) }
    Secret.wipe(&ephemeral)
    state.symmetric.wipe()
  }

  /// True when all messages were written and read.
  package var isComplete: Bool { state.next == pattern.messages.count }
  /// The other's static key, once it was read.
  package var remoteStatic: Key32? { state.remoteStatic }
  /// The hash of all that was said, 64 bytes; names the session once complete.
  package var handshakeHash: [UInt8] { state.symmetric.hash }

  private var isOurTurn: Bool { (state.next % 2 == 0) == (role == .initiator) }

  /// Our next message, with `payload` inside.
  package func write(_ payload: [UInt8]) throws(NoiseError) -> [UInt8] {
    guard !isComplete, isOurTurn else { throw .outOfTurn }
    var message: [UInt8] = []
    for token in pattern.messages[state.next] {
      switch token {
      case .e:
        message += ephemeralPublic.bytes
        mixEphemeral(ephemeralPublic)
      case .s:
        guard let identity else { throw .outOfTurn }
        message += state.symmetric.encryptAndHash(identity.publicIdentity.agreement.bytes)
      default: try mix(token)
      }
    }
    message += state.symmetric.encryptAndHash(payload)
    state.next += 1
    return message
  }

  /// Reads the other's next message and gives its payload.
  package func read(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
    guard !isComplete, !isOurTurn else { throw .outOfTurn }
    let before = state
    do throws(NoiseError) {
      return try readTokens(of: message)
    } catch {
      state = before
      throw error
    }
  }

  private func readTokens(of message: [UInt8]) throws(NoiseError) -> [UInt8] {
    var rest = message[...]
    func take(_ count: Int) throws(NoiseError) -> [UInt8] {
      guard rest.count >= count else { throw .tooShort }
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    for token in pattern.messages[state.next] {
      switch token {
      case .e:
        let key = Key32(try take(32))
        state.remoteEphemeral = key
        if let key { mixEphemeral(key) }
      case .s:
        let sealed = try take(32 + state.symmetric.overhead)
        guard let key = state.symmetric.decryptAndHash(sealed) else { throw .forged }
        state.remoteStatic = Key32(key)
      default: try mix(token)
      }
    }
    guard rest.count >= state.symmetric.overhead else { throw .tooShort }
    guard let payload = state.symmetric.decryptAndHash(Array(rest)) else { throw .forged }
    state.next += 1
    return payload
  }

  private func mixEphemeral(_ key: Key32) {
    state.symmetric.mixHash(key.bytes)
    if pattern.hasPreSharedKey { state.symmetric.mixKey(key.bytes) }
  }

  private func mix(_ token: NoiseToken) throws(NoiseError) {
    if token == .psk {
      guard state.preSharedKeysUsed < preSharedKeys.count else { throw .outOfTurn }
      state.symmetric.mixKeyAndHash(preSharedKeys[state.preSharedKeysUsed])
      state.preSharedKeysUsed += 1
      return
    }
    // The initiator's key is named first in a token, ours must be the secret one.
    let usesOurStatic = token == .ss || (token == .se) == (role == .initiator) && token != .ee
    let usesTheirStatic = token == .ss || (token == .es) == (role == .initiator) && token != .ee
    guard let theirs = usesTheirStatic ? state.remoteStatic : state.remoteEphemeral else {
      throw .outOfTurn
    }
    var shared: [UInt8]
    if usesOurStatic {
      guard let identity else { throw .outOfTurn }
      guard let secret = identity.shared(with: theirs) else { throw .weakKey }
      shared = secret
    } else {
      guard let secret = X25519.shared(secret: ephemeral, with: theirs) else { throw .weakKey }
      shared = secret
    }
    state.symmetric.mixKey(shared)
    Secret.wipe(&shared)
  }

  /// The transport keys, once complete: ours to send with, and the other's.
  package func split() -> (sending: Secret, receiving: Secret)? {
    guard isComplete, let keys = state.symmetric.split() else { return nil }
    return role == .initiator
      ? (keys.initiator, keys.responder) : (keys.responder, keys.initiator)
  }
}
