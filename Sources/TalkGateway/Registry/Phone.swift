package import TalkCore
package import TalkCrypto

/// Which phone: random, given when it is added.
package struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The sixteen bytes.
  package var value: Bytes16

  /// Makes an id of its bytes.
  package init(_ value: Bytes16) { self.value = value }

  /// Orders by the bytes, the first one first.
  package static func < (left: DeviceID, right: DeviceID) -> Bool { left.value < right.value }

  /// Thirty-two hex digits.
  package var description: String { value.hex }
}

/// How loudly a notification may come in (Apple's interruption-level), rising.
package enum InterruptionLevel: UInt8, Comparable, Sendable, CaseIterable {
  /// Into the list only.
  case passive = 0
  /// Lights the screen, with a sound.
  case active = 1
  /// Also through a focus or scheduled summary.
  case timeSensitive = 2
  /// Also through the mute switch; Apple grants it to few.
  case critical = 3

  /// True when the left one is the quieter.
  package static func < (left: InterruptionLevel, right: InterruptionLevel) -> Bool {
    left.rawValue < right.rawValue
  }

  /// The word in a payload's `interruption-level`.
  package var word: String {
    switch self {
    case .passive: "passive"
    case .active: "active"
    case .timeSensitive: "time-sensitive"
    case .critical: "critical"
    }
  }
}

/// The hash under which a ticket is kept: who reads the registry learns no ticket.
package struct TicketHash: Hashable, Sendable {
  /// The 32 bytes.
  package var value: Key32

  /// Bytes of a ticket: random, so that a fast hash is enough.
  package static let ticketSize = 32

  /// Takes a hash as it was kept.
  package init(_ value: Key32) { self.value = value }

  /// BLAKE2b-256("talkaround phone ticket v1" ‖ ticket).
  package init(of ticket: [UInt8]) {
    var hash = Blake2b(size: 32)
    hash.update("talkaround phone ticket v1")
    hash.update(ticket)
    value = Key32(hash.finalize())!
  }
}

/// A phone of a channel, as the registry keeps it.
package struct Phone: Hashable, Sendable {
  /// The most bytes of UTF-8 in a phone's name.
  package static let nameLimit = 64

  /// Which phone.
  package var device: DeviceID
  /// What people call it.
  package var name: String
  /// The mesh channel that it takes part in.
  package var channel: ChannelID
  /// From which seat behind the gateway it speaks: unique in its channel, from 1.
  package var seat: UInt16
  /// The hash of the ticket that lets it attach.
  package var ticket: TicketHash
  /// The hash of the ticket that it was sent, and has not shown to have: valid too until then.
  package var nextTicket: TicketHash?
  /// The X25519 key that it attached with; bound at the first time.
  package var key: Key32?
  /// The loudest notification that its person allows, as it reported.
  package var allowed: InterruptionLevel
  /// When it was added, in milliseconds since 1970.
  package var added: UInt64
  /// When it last attached, in milliseconds since 1970.
  package var seen: UInt64?
}

/// A mesh channel as phones see it.
package struct PhoneChannel: Hashable, Sendable {
  /// The mesh channel.
  package var id: ChannelID
  /// The UUID under which PTChannelManager knows it: another, so that Apple's wire does not name
  /// the mesh's.
  package var uuid: Bytes16
  /// What people call it.
  package var name: String
  /// True when speakers' names may stand in payloads, which Apple can read.
  package var showsNames: Bool
  /// How loud a missed voice may be.
  package var level: InterruptionLevel

  /// Makes a channel of its parts.
  package init(
    id: ChannelID, uuid: Bytes16, name: String, showsNames: Bool = false,
    level: InterruptionLevel = .active
  ) {
    (self.id, self.uuid, self.name) = (id, uuid, name)
    (self.showsNames, self.level) = (showsNames, level)
  }
}

/// A push token of a phone.
package struct PhoneToken: Hashable, Sendable {
  /// What a token is for: each has a topic of its own.
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// PTChannelManager's ephemeral token.
    case pushToTalk = 0
    /// PushKit's token.
    case voip = 1
    /// The app's token for notifications.
    case alert = 2
  }

  /// The most bytes that are taken for a token: Apple states none, and says not to assume one.
  package static let limit = 1_024

  /// Whose.
  package var device: DeviceID
  /// For which mesh channel.
  package var channel: ChannelID
  /// For what.
  package var kind: Kind
  /// The system that it belongs to.
  package var environment: Push.Environment
  /// The token, of any length up to `limit`.
  package var bytes: [UInt8]
  /// When the phone last said that it has this one, in milliseconds since 1970.
  package var registered: UInt64

  /// Makes a token of its parts.
  package init(
    device: DeviceID, channel: ChannelID, kind: Kind, environment: Push.Environment,
    bytes: [UInt8], registered: UInt64
  ) {
    (self.device, self.channel, self.kind) = (device, channel, kind)
    (self.environment, self.bytes, self.registered) = (environment, bytes, registered)
  }
}

extension Push.Kind {
  /// The token that such a push needs.
  package var tokenKind: PhoneToken.Kind {
    switch self {
    case .speak, .leave, .serviceUpdate: .pushToTalk
    case .call: .voip
    case .missedVoice: .alert
    }
  }
}
