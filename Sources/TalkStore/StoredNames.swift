package import TalkCore

/// What members call themselves, so that those who are away have a name after a restart. Labels,
/// never identity.
package struct StoredNames: Equatable, Sendable {
  /// One member's name on one channel.
  package struct Entry: Equatable, Sendable {
    /// The channel.
    package var channel: ChannelID
    /// The member.
    package var peer: PeerID
    /// As it last called itself, at most 32 bytes of UTF-8; untrusted.
    package var name: String

    /// An entry of its parts.
    package init(channel: ChannelID, peer: PeerID, name: String) {
      self.channel = channel
      self.peer = peer
      self.name = name
    }
  }

  /// The most entries; further ones are left out.
  package static let limit = 4_096

  /// The names, in the order of the channels and members.
  package private(set) var entries: [Entry]

  /// Keeps the first `limit` of `entries`.
  package init(_ entries: [Entry]) { self.entries = Array(entries.prefix(Self.limit)) }

  /// How it lies in its body: count 2 × (channel 16, member 16, name).
  func encode() -> [UInt8] {
    var writer = RecordWriter(capacity: 2 + entries.count * (34 + SafeText.nameLimit))
    writer.number(UInt64(entries.count), width: 2)
    for entry in entries {
      writer.bytes16(entry.channel.value)
      writer.bytes16(entry.peer.value)
      writer.text(SafeText.cut(entry.name))
    }
    return writer.bytes
  }

  static func decode(_ span: RawSpan) -> StoredNames? {
    var reader = ByteReader(span)
    guard let count = reader.u16(), count <= limit else { return nil }
    var entries: [Entry] = []
    for _ in 0..<count {
      guard let channel = reader.bytes16(), let peer = reader.bytes16(),
        let name = reader.text(limit: SafeText.nameLimit)
      else { return nil }
      entries.append(Entry(channel: ChannelID(channel), peer: PeerID(peer), name: name))
    }
    return reader.isComplete ? StoredNames(entries) : nil
  }
}
