package import TalkCore
package import TalkCrypto

/// What became of the wish to be the one gateway that pushes to a phone.
package enum ClaimOutcome: Hashable, Sendable {
  /// It is ours: push to these tokens, then `markSent`.
  case won([PhoneToken])
  /// Another gateway has it; `sent` when it said that the push has left. If not, ask again after
  /// `RegistryTimes.takeOver`: it may have died in between.
  case lost(sent: Bool)
  /// The phone has no token for this that may be used.
  case noToken
}

/// What is claimed: one push of one kind about one burst (or call).
package struct PushClaim: Hashable, Sendable {
  /// What the push is for.
  package var kind: Push.Kind
  /// What it is about.
  package var burst: BurstID
  /// The mesh channel.
  package var channel: ChannelID
  /// Which gateway asks.
  package var gateway: PeerID

  /// Makes a claim.
  package init(kind: Push.Kind, burst: BurstID, channel: ChannelID, gateway: PeerID) {
    (self.kind, self.burst, self.channel, self.gateway) = (kind, burst, channel, gateway)
  }
}

/// Times of the registry (our choice).
package enum RegistryTimes {
  /// A claim that nobody marked as sent can be taken over after so long.
  package static let takeOver = Duration.seconds(2)
  /// How long a token that Apple refused is left alone, unless the phone registers another.
  package static let quarantine = Duration.seconds(86_400)
  /// How long claims are kept: longer than any burst with its clip.
  package static let claims = Duration.seconds(3_600)
}

/// What is kept of phones over restarts, and shared by the gateways of a mesh.
///
/// Calls may touch a disk or a network: make them on a worker (`RegistryWorker`), never on a loop.
/// All times are milliseconds since 1970, passed in. Each call happens wholly or not at all.
/// `SQLiteRegistry` serves one host; several hosts need another behind the same protocol.
package protocol PhoneRegistry: TokenStore {
  /// Adds a channel, or changes what is known of it.
  func setChannel(_ channel: PhoneChannel) throws(RegistryError)
  /// All channels, by id.
  func channels() throws(RegistryError) -> [PhoneChannel]

  /// Adds a phone in the lowest free seat of a channel that is known.
  func add(
    _ device: DeviceID, name: String, channel: ChannelID, ticket: TicketHash, at now: UInt64
  ) throws(RegistryError) -> Phone
  /// The phones of a channel, by seat; of all channels without one.
  func phones(in channel: ChannelID?) throws(RegistryError) -> [Phone]
  /// Removes a phone with its claims, and gives the tokens that it had, so that it can be told.
  func remove(_ device: DeviceID) throws(RegistryError) -> [PhoneToken]
  /// Notes what the phone's person allows.
  func setAllowed(_ level: InterruptionLevel, of device: DeviceID) throws(RegistryError)

  /// The phone that a ticket belongs to, be it the one in use or the one offered.
  func phone(presenting ticket: TicketHash) throws(RegistryError) -> Phone?
  /// Notes the ticket that is sent to a phone: from now on either lets it in. Durable when this
  /// returns, so that a phone is never locked out by a power cut.
  func offerTicket(_ next: TicketHash, to device: DeviceID) throws(RegistryError)
  /// The phone has shown that it got the offered ticket: the old one is void. Binds its key.
  func confirmTicket(
    _ next: TicketHash, of device: DeviceID, key: Key32, at now: UInt64
  ) throws(RegistryError)

  /// Takes a token in the place of the one of the same device, channel, kind and environment. The
  /// same bytes again renew its time and leave a quarantine alone; other bytes end one.
  func register(_ token: PhoneToken) throws(RegistryError)
  /// All tokens of a phone, also quarantined ones.
  func tokens(of device: DeviceID) throws(RegistryError) -> [PhoneToken]
  /// Apple says that the token is dead since `time`: drops it if it was registered before that and
  /// is still the one that is kept. True when it was dropped.
  func retire(_ token: PhoneToken, deadSince time: UInt64) throws(RegistryError) -> Bool
  /// Leaves a token alone for `RegistryTimes.quarantine`, if it is still the one that is kept.
  func quarantine(_ token: PhoneToken, at now: UInt64) throws(RegistryError)
  /// The token turned out to belong to the other environment.
  func moveToOtherEnvironment(_ token: PhoneToken) throws(RegistryError)

  /// Claims a push for each of these phones; of several gateways one wins each. In the order asked.
  func claim(
    _ claim: PushClaim, for devices: [DeviceID], at now: UInt64
  ) throws(RegistryError) -> [ClaimOutcome]
  /// The claimed pushes to these phones have left.
  func markSent(_ claim: PushClaim, to devices: [DeviceID]) throws(RegistryError)
  /// Forgets claims made before `time`; call it now and then.
  func forgetClaims(before time: UInt64) throws(RegistryError)
}

extension PhoneRegistry {
  /// What the registry has to do for an ATTACH: finds the phone of a ticket and notes the next one,
  /// unless the phone is bound to another key. Nil when it is not to be let in.
  package func attach(
    ticket: TicketHash, next: TicketHash, key: Key32
  ) throws(RegistryError) -> Phone? {
    guard let phone = try phone(presenting: ticket), phone.key ?? key == key else { return nil }
    try offerTicket(next, to: phone.device)
    return phone
  }
}
