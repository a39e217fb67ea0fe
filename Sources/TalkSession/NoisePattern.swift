/// A token of a Noise message pattern (Noise rev 34, section 7.1 and section 9).
package enum NoiseToken: Sendable {
  /// The sender's ephemeral public key.
  case e
  /// The sender's static public key.
  case s
  /// A shared secret of both ephemeral keys.
  case ee
  /// A shared secret of the initiator's ephemeral and the responder's static key.
  case es
  /// A shared secret of the initiator's static and the responder's ephemeral key.
  case se
  /// A shared secret of both static keys.
  case ss
  /// The next pre-shared key.
  case psk
}

/// Which side of a handshake a node is.
package enum NoiseRole: UInt8, Sendable {
  /// Sends the first message.
  case initiator = 0
  /// Answers it.
  case responder = 1
}

/// A handshake pattern: which tokens each message holds, and which keys are known before.
package struct NoisePattern: Sendable {
  /// The name with its modifiers, as in the protocol's name.
  package let name: String
  /// Keys of the initiator that the responder knows before.
  package let initiatorPre: [NoiseToken]
  /// Keys of the responder that the initiator knows before.
  package let responderPre: [NoiseToken]
  /// The tokens of each message; the first is the initiator's, then they alternate.
  package let messages: [[NoiseToken]]

  /// Describes a pattern.
  package init(
    name: String, initiatorPre: [NoiseToken] = [], responderPre: [NoiseToken] = [],
    messages: [[NoiseToken]]
  ) {
    self.name = name
    self.initiatorPre = initiatorPre
    self.responderPre = responderPre
    self.messages = messages
  }

  /// The whole name with our choice of functions.
  package var protocolName: String { "Noise_\(name)_25519_ChaChaPoly_BLAKE2b" }

  /// True when a pre-shared key is used; ephemeral keys are then mixed into the key too (section
  /// 9.2).
  package var hasPreSharedKey: Bool { messages.contains { $0.contains(.psk) } }

  /// The one pattern between members (session.md, D1): identities stay hidden from strangers, and
  /// only who has the channel's secret completes it.
  package static let xxPSK3 = NoisePattern(
    name: "XXpsk3", messages: [[.e], [.e, .ee, .s, .es], [.s, .se, .psk]])
}
