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
