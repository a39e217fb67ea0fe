package import TalkCore

/// Which file a record goes to.
package enum StoreFile: Hashable, Sendable {
  /// Keys and nickname: `identity`.
  case identity
  /// A channel: `channels/UUID`.
  case channel(ChannelID)
  /// Remembered endpoints: `peers`.
  case peers
  /// How often the node started: `boot`.
  case boot
  /// What members call themselves: `names`.
  case names

  var kind: RecordKind {
    switch self {
    case .identity: .identity
    case .channel: .channel
    case .peers: .peers
    case .boot: .boot
    case .names: .names
    }
  }
}

/// One thing to be kept on disk.
package enum StoredRecord: Sendable {
  /// Keys and nickname.
  case identity(StoredIdentity)
  /// A channel with its secrets and roster.
  case channel(StoredChannel)
  /// Remembered endpoints.
  case peers(StoredPeers)
  /// How often the node started.
  case boot(StoredBoot)
  /// What members call themselves.
  case names(StoredNames)

  /// The file that the record goes to.
  package var file: StoreFile {
    switch self {
    case .identity: .identity
    case .channel(let channel): .channel(channel.id)
    case .peers: .peers
    case .boot: .boot
    case .names: .names
    }
  }

  func encode() -> [UInt8] {
    switch self {
    case .identity(let identity): identity.encode()
    case .channel(let channel): channel.encode()
    case .peers(let peers): peers.encode()
    case .boot(let boot): boot.encode()
    case .names(let names): names.encode()
    }
  }
}

/// How often the node started with this identity: the boot instance of its hellos and handshakes,
/// which must rise over restarts (session.md, HELLO).
package struct StoredBoot: Equatable, Sendable {
  /// The number of the latest start; 1 is the first.
  package var count: UInt64

  /// A record of `count` starts.
  package init(count: UInt64) { self.count = count }

  func encode() -> [UInt8] {
    var writer = RecordWriter(capacity: 8)
    writer.number(count, width: 8)
    return writer.bytes
  }

  static func decode(_ span: RawSpan) -> StoredBoot? {
    var reader = ByteReader(span)
    guard let count = reader.u64(), reader.isComplete else { return nil }
    return StoredBoot(count: count)
  }
}
