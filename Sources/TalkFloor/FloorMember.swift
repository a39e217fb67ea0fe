import TalkCore
package import TalkCrypto
package import TalkWire

/// What the floor must know of a member; told by the roster and the sessions.
package struct FloorMember: Sendable {
  /// The Ed25519 key that its grants verify with.
  package var signingKey: Key32
  /// False when the roster lets it only listen.
  package var maySpeak: Bool
  /// The classes that the roster allows it, as bits by raw value.
  package var classes: UInt8
  /// True while a session with it is up.
  package var present = false
  /// What it may still send.
  var budget = MessageBudget()

  /// Makes a member that is not here yet.
  package init(signingKey: Key32, maySpeak: Bool = true, classes: UInt8 = 0b1001) {
    self.signingKey = signingKey
    self.maySpeak = maySpeak
    self.classes = classes
  }

  /// True when the roster allows this class.
  package func may(_ floorClass: FloorClass) -> Bool {
    maySpeak && classes >> floorClass.rawValue & 1 == 1
  }
}
