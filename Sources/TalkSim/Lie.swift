package import TalkCore
package import TalkWire

/// Something false that a member says, with all that is needed to make it up.
package struct Lie: Sendable {
  /// The false messages; false frames and replays need no protocol.
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// A grant to the liar with a made-up signature.
    case forgedGrant
    /// A release of another's token.
    case foreignRelease
    /// A heartbeat for another's token, at third hand.
    case foreignHeartbeat
    /// Another's token told as talking.
    case foreignTaken
    /// A token of the liar's own with a jump of turns, or a class that it may not have.
    case inflatedTaken
    /// "Your token is over", when it is not.
    case falseStale
    /// Another's request taken back.
    case falseCancel
  }

  /// Which lie.
  package var kind: Kind
  /// Who lies.
  package var liar: PeerID
  /// The token that the lie is about.
  package var token: Token
  /// A number to vary the lie by.
  package var number: UInt64

  /// Makes a lie of its parts.
  package init(kind: Kind, liar: PeerID, token: Token, number: UInt64) {
    self.kind = kind
    self.liar = liar
    self.token = token
    self.number = number
  }
}
