/// What the node answers to a request.
package typealias ControlReply = Result<ControlResult, ControlFailure>

/// A request that was granted.
package enum ControlResult: Hashable, Sendable {
  /// Nothing more to say.
  case done
  /// One channel.
  case channel(ChannelStatus)
  /// Every channel.
  case channels([ChannelStatus])
  /// A fresh invite.
  case invite(InviteGrant)
  /// Members of one channel.
  case members([MemberStatus])
  /// What a press, release or hold led to.
  case floor(FloorStatus)
  /// Who heard a spoken file.
  case heard(HeardEvent)
  /// Everything.
  case status(StatusReport)
  /// Sound devices.
  case devices(DeviceReport)
}

extension ControlResult: Encodable {
  /// Writes what is inside; `done` is an empty object.
  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .done: _ = encoder.container(keyedBy: NoKeys.self)
    case .channel(let value): try value.encode(to: encoder)
    case .channels(let value): try value.encode(to: encoder)
    case .invite(let value): try value.encode(to: encoder)
    case .members(let value): try value.encode(to: encoder)
    case .floor(let value): try value.encode(to: encoder)
    case .heard(let value): try value.encode(to: encoder)
    case .status(let value): try value.encode(to: encoder)
    case .devices(let value): try value.encode(to: encoder)
    }
  }

  private enum NoKeys: CodingKey {}
}

/// An invite and the window in which it is answered. The line is a secret that no description
/// shows.
package struct InviteGrant: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The line `talk1…`.
  package var invite: String
  /// The channel's name.
  package var channel: String
  /// For how many seconds newcomers are admitted.
  package var seconds: Int
  /// How many are.
  package var joiners: Int

  /// A grant of its parts.
  package init(invite: String, channel: String, seconds: Int, joiners: Int) {
    self.invite = invite
    self.channel = channel
    self.seconds = seconds
    self.joiners = joiners
  }

  /// All but the line.
  package var description: String { "invite to \(channel) for \(joiners) within \(seconds) s" }
}

/// A request that was not granted: a JSON-RPC 2.0 error object with a reason of ours.
package struct ControlFailure: Error, Hashable, Sendable {
  /// The kinds that JSON-RPC 2.0 tells apart (section 5.1).
  package enum Code: Int, Sendable {
    /// The line is no JSON.
    case notJSON = -32_700
    /// The line is no request.
    case notRequest = -32_600
    /// There is no such method.
    case unknownMethod = -32_601
    /// A parameter is missing, unknown or out of bounds.
    case badParameters = -32_602
    /// The node could not do it; the reason says why.
    case refused = -32_000
  }

  /// Which kind, as a number; a client may meet others than `Code` has.
  package var code: Int
  /// Why.
  package var reason: Reason
  /// One line that names the thing and the cure.
  package var message: String

  /// A failure of its parts.
  package init(_ code: Code, _ reason: Reason, _ message: String) {
    self.code = code.rawValue
    self.reason = reason
    self.message = message
  }

  /// What the node could not do, and why.
  package init(_ reason: Reason, _ message: String) {
    self.init(.refused, reason, message)
  }

  /// The failure of a request that names a channel that is not there, among those that are.
  package static func noSuchChannel(_ name: String, among names: [String]) -> ControlFailure {
    guard !names.isEmpty else { return .noChannel }
    let hint = NearestName.hint(name, among: names)
    let cure = hint.isEmpty ? "; 'talkaround channel list' shows those there are" : hint
    return ControlFailure(.noSuchChannel, "no channel is called '\(name.prefix(64))'\(cure)")
  }

  /// The failure of a request that needs a channel where there is none.
  package static let noChannel = ControlFailure(
    .noChannel, "there is no channel yet; make one with 'talkaround channel create NAME', or join")
}

extension ControlFailure: Codable {
  private enum CodingKeys: String, CodingKey { case code, message, data }
  private enum DataKeys: String, CodingKey { case reason }

  /// Writes `{"code", "data": {"reason"}, "message"}`.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(code, forKey: .code)
    try container.encode(message, forKey: .message)
    var data = container.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
    try data.encode(reason, forKey: .reason)
  }

  /// Reads what `encode` writes; a reason that is not known here is a `fault`.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    code = try container.decode(Int.self, forKey: .code)
    message = try container.decode(String.self, forKey: .message)
    let data = try? container.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
    reason = (try? data?.decode(Reason.self, forKey: .reason)) ?? .fault
  }
}
