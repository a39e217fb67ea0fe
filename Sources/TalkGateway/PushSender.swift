package import TalkCore

/// One push to one phone, complete: nothing is fetched or looked up after it is made.
package struct Push: Hashable, Sendable {
  /// What the push is for (gateway.md, "Pushes"). It fixes push type, topic and size.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Somebody talks: the phone sets its active participant.
    case speak
    /// The phone leaves the channel.
    case leave
    /// The channel's name, image or status changed.
    case serviceUpdate
    /// A real one-to-one call, which must ring.
    case call
    /// A visible message with a clip: the phone did not wake in time.
    case missedVoice
  }

  /// Apple's two systems; a device token belongs to one of them.
  package enum Environment: String, Hashable, Sendable, CaseIterable {
    /// For apps built for development.
    case sandbox
    /// For apps from TestFlight and the App Store.
    case production

    /// The one that this is not.
    package var other: Environment { self == .sandbox ? .production : .sandbox }
  }

  /// How urgent Apple should take it: the header apns-priority.
  package enum Priority: UInt8, Hashable, Sendable {
    /// As the phone's battery allows.
    case considerate = 5
    /// At once.
    case immediate = 10
  }

  /// What the push is for.
  package var kind: Kind
  /// The device token as the phone gave it: of any length.
  package var token: [UInt8]
  /// The system that the token belongs to.
  package var environment: Environment
  /// True when the other environment refused this push already: it is tried there once only.
  package var triedOther = false
  /// The header apns-id, a UUID that the caller chose: the same however often it is sent.
  package var id: Bytes16
  /// The header apns-priority.
  package var priority: Priority
  /// The header apns-expiration in seconds since 1970: until then Apple keeps the push for a phone
  /// that is away; 0: it delivers at once or never.
  package var expiration: UInt64
  /// The header apns-collapse-id: a later push with the same id replaces the one that is shown. At
  /// most 64 bytes.
  package var collapseID: String?
  /// The JSON, at most `Kind.payloadLimit` bytes.
  package var payload: [UInt8]
  /// When what it tells of began (the grant of the burst): a failed server is asked again only
  /// while it is younger than 2 s.
  package var began: Instant
  /// The push is not sent, and not sent again, after this.
  package var notAfter: Instant

  /// Makes a push; `priority` at once and `expiration` 0 are what a push to talk needs.
  package init(
    kind: Kind, token: [UInt8], environment: Environment, id: Bytes16,
    priority: Priority = .immediate, expiration: UInt64 = 0, collapseID: String? = nil,
    payload: [UInt8], began: Instant, notAfter: Instant
  ) {
    (self.kind, self.token, self.environment, self.id) = (kind, token, environment, id)
    (self.priority, self.expiration, self.collapseID) = (priority, expiration, collapseID)
    (self.payload, self.began, self.notAfter) = (payload, began, notAfter)
  }

  /// The same push for the other environment, after the advice `otherEnvironment`.
  package var inOtherEnvironment: Push {
    var push = self
    (push.environment, push.triedOther) = (environment.other, true)
    return push
  }
}

extension Push.Kind {
  /// The header apns-push-type.
  package var pushType: String {
    switch self {
    case .speak, .leave, .serviceUpdate: "pushtotalk"
    case .call: "voip"
    case .missedVoice: "alert"
    }
  }

  /// The header apns-topic for an app's bundle id.
  package func topic(bundle: String) -> String {
    switch self {
    case .speak, .leave, .serviceUpdate: bundle + ".voip-ptt"
    case .call: bundle + ".voip"
    case .missedVoice: bundle
    }
  }

  /// The most bytes of payload that Apple takes.
  package var payloadLimit: Int { self == .call ? 5_120 : 4_096 }
}

/// What became of a push.
package enum PushOutcome: Hashable, Sendable {
  /// Apple took it. That says nothing about the phone: it may be off, or the app long gone.
  case delivered
  /// It was not taken, and is not sent again by the sender. `reason` is Apple's word where Apple
  /// answered, escaped for display; else one of ours.
  case refused(reason: String, advice: PushAdvice)
  /// Its time passed before an answer came; `reason` says what was in the way.
  case expired(reason: String)
}

/// What the caller should do about a refused push (gateway.md, "APNs provider facts").
package enum PushAdvice: Hashable, Sendable {
  /// The token is dead since `at`, in milliseconds since 1970: drop it if it was registered before
  /// that (`dropsToken(registeredAt:)`), and tell the app.
  case dropToken(at: UInt64)
  /// Send `Push.inOtherEnvironment`, and keep that environment when it is delivered.
  case otherEnvironment
  /// Send nothing of this kind to this token until the phone registers again.
  case quarantine
  /// The push was malformed: a mistake of this program. Do not send it again.
  case ourFault
  /// No push of this environment goes out until somebody mends what the text names.
  case providerStopped(String)
  /// Send nothing to this device (a refused rate), or nothing at all (a failing server), for so
  /// long.
  case backOff(Duration)

  /// True when a token registered at this time (milliseconds since 1970) is to be dropped. A token
  /// registered since then is a new life of the app: Apple's answer is about the old one.
  package func dropsToken(registeredAt: UInt64) -> Bool {
    if case .dropToken(let at) = self { registeredAt < at } else { false }
  }
}

/// Something that takes pushes to phones: Apple's servers, or a twin in memory.
package protocol PushSender: Sendable {
  /// Queues the pushes in order, from any thread, without waiting.
  ///
  /// `report` is called exactly once for each push, on a thread of the sender's, maybe before
  /// `send` returns; it must only hand the outcome on (post it to a mailbox).
  func send(_ pushes: [Push], report: @escaping @Sendable (Push, PushOutcome) -> Void)
}

/// A provider token (JWT) with the time it was issued.
package struct ProviderToken: Hashable, Sendable {
  /// The claim iat: seconds since 1970.
  package var issuedAt: UInt64
  /// The whole JWT, as it stands in the header after "bearer ".
  package var text: String

  /// A token with its time.
  package init(issuedAt: UInt64, text: String) {
    (self.issuedAt, self.text) = (issuedAt, text)
  }
}

/// Keeps the one provider token of a signing key over restarts, and among gateways that share a
/// registry: Apple allows one new token per 20 minutes for the whole team.
///
/// The sender calls it on its own thread, at its start and at each renewal; it may touch the disk.
package protocol TokenStore: Sendable {
  /// The token that stands for `key` ("TEAM.KEY"); nil when there was never one.
  func providerToken(for key: String) throws -> ProviderToken?

  /// Puts `token` in the place of the one issued at `replacing` (nil: of none), in one
  /// transaction, and returns the one that then stands: another gateway's, when it came first.
  func offer(
    _ token: ProviderToken, for key: String, replacing: UInt64?
  ) throws -> ProviderToken
}
