package import TalkCore

/// Where members were met, so that a restarted node finds them without discovery.
package struct StoredPeers: Equatable, Sendable {
  /// One endpoint of one member.
  package struct Entry: Equatable, Sendable {
    /// The channel on which the member was met.
    package var channel: ChannelID
    /// The member.
    package var peer: PeerID
    /// Where it answered.
    package var endpoint: Endpoint
    /// When it last did: seconds since 1970 by the wall clock, which may be wrong.
    package var lastSeen: UInt64

    /// An entry of its parts.
    package init(channel: ChannelID, peer: PeerID, endpoint: Endpoint, lastSeen: UInt64) {
      self.channel = channel
      self.peer = peer
      self.endpoint = endpoint
      self.lastSeen = lastSeen
    }
  }

  /// The most entries; the oldest go first.
  package static let limit = 1_024
  /// How long an entry is kept, in seconds: seven days.
  package static let lifetime: UInt64 = 7 * 86_400

  /// The entries, the latest first.
  package private(set) var entries: [Entry]

  /// Keeps of `entries` the latest `limit` that are at most seven days old at `now` (seconds since
  /// 1970). One from the future is kept: the clock was wrong then or is wrong now.
  package init(_ entries: [Entry], now: UInt64) {
    let recent = entries.filter { $0.lastSeen >= now || now - $0.lastSeen <= Self.lifetime }
    self.entries = Array(recent.sorted { $0.lastSeen > $1.lastSeen }.prefix(Self.limit))
  }

  func encode() -> [UInt8] {
    var writer = RecordWriter(capacity: 2 + entries.count * 62)
    writer.number(UInt64(entries.count), width: 2)
    for entry in entries {
      writer.bytes16(entry.channel.value)
      writer.bytes16(entry.peer.value)
      writer.bytes16(entry.endpoint.address)
      writer.number(UInt64(entry.endpoint.port), width: 2)
      writer.number(UInt64(entry.endpoint.scope), width: 4)
      writer.number(entry.lastSeen, width: 8)
    }
    return writer.bytes
  }

  static func decode(_ span: RawSpan) -> StoredPeers? {
    var reader = ByteReader(span)
    guard let count = reader.u16(), count <= limit else { return nil }
    var entries: [Entry] = []
    for _ in 0..<count {
      guard let channel = reader.bytes16(), let peer = reader.bytes16(),
        let address = reader.bytes16(), let port = reader.u16(), let scope = reader.u32(),
        let lastSeen = reader.u64()
      else { return nil }
      entries.append(
        Entry(
          channel: ChannelID(channel), peer: PeerID(peer),
          endpoint: Endpoint(address: address, port: port, scope: scope), lastSeen: lastSeen))
    }
    return reader.isComplete ? StoredPeers(entries, now: 0) : nil
  }
}
