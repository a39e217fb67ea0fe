package import TalkCore

/// A channel as the node knows it: what makes it, its secrets, its roster, and numbers that must
/// rise over restarts.
package struct StoredChannel: Equatable, Sendable {
  /// The secret of one epoch.
  package struct Epoch: Equatable, Sendable {
    /// The epoch's number.
    package var number: UInt64
    /// S_n, 32 bytes.
    package var secret: SecretBytes

    /// An epoch of its parts.
    package init(number: UInt64, secret: SecretBytes) {
      self.number = number
      self.secret = secret
    }
  }

  /// Bytes of an epoch's secret.
  package static let secretSize = 32
  /// The most epochs: the present one and the eight old ones that session.md keeps.
  package static let epochLimit = 9
  /// The most signed records of a roster: several may concern one member.
  package static let rosterLimit = 4_096
  /// The most bytes of one signed record of a roster.
  package static let rosterRecordLimit = 512

  /// The channel's UUID.
  package var id: ChannelID
  /// Its name, at most 32 bytes of UTF-8.
  package var name: String
  /// The creator's fingerprint, 20 bytes: the root of the roster.
  package var creator: [UInt8]
  /// The random part of the UUID's preimage, 16 bytes.
  package var creation: [UInt8]
  /// The secrets, the present epoch last.
  package var epochs: [Epoch]
  /// Signed ADMITs as they came, the creator's own first.
  package var roster: [[UInt8]] = []
  /// Running numbers of our own ADMITs below this one may be used; reserved ahead.
  package var admitReserve: UInt64 = 0
  /// Turns below this one may be used; reserved 1,024 ahead (floor.md, S7).
  package var turnReserve: UInt64 = 0
  /// True until a member has admitted us.
  package var joining = false
  /// Who gave us the invite; nil on a channel of our own.
  package var inviter: PeerID?
  /// Where the channel stands in lists.
  package var order: UInt32 = 0
  /// True for the channel that we talk on.
  package var isCurrent = false

  /// A channel of its lasting parts; the name is cut to 32 bytes at a whole character. Traps on
  /// wrong sizes: they come from our own code or a checked invite.
  package init(
    id: ChannelID, name: String, creator: [UInt8], creation: [UInt8], epochs: [Epoch]
  ) {
    precondition(
      creator.count == 20 && creation.count == 16 && epochs.count <= Self.epochLimit
        && epochs.allSatisfy { $0.secret.count == Self.secretSize }, "sizes of a channel's parts")
    self.id = id
    self.name = SafeText.cut(name)
    self.creator = creator
    self.creation = creation
    self.epochs = epochs
  }
}

/// How the record lies in its body: UUID 16, creator 20, creation 16, flags 1 (joining 1,
/// current 2, inviter 4), order 4, admit reserve 8, turn reserve 8, inviter 16, name, epochs 1 ×
/// (number 8, secret 32), roster 2 × (length 2, bytes).
extension StoredChannel {
  func encode() -> [UInt8] {
    let rosterSize = roster.reduce(0) { $0 + $1.count + 2 }
    var writer = RecordWriter(capacity: 192 + epochs.count * 40 + rosterSize)
    writer.bytes16(id.value)
    writer.raw(creator)
    writer.raw(creation)
    writer.u8((joining ? 1 : 0) | (isCurrent ? 2 : 0) | (inviter != nil ? 4 : 0))
    writer.number(UInt64(order), width: 4)
    writer.number(admitReserve, width: 8)
    writer.number(turnReserve, width: 8)
    writer.bytes16(inviter?.value ?? .zero)
    writer.text(name)
    let kept = epochs.suffix(Self.epochLimit)
    writer.u8(UInt8(kept.count))
    for epoch in kept {
      writer.number(epoch.number, width: 8)
      writer.secret(epoch.secret)
    }
    let admits = roster.prefix(Self.rosterLimit).filter { $0.count <= Self.rosterRecordLimit }
    writer.number(UInt64(admits.count), width: 2)
    for admit in admits {
      writer.number(UInt64(admit.count), width: 2)
      writer.raw(admit)
    }
    return writer.bytes
  }

  static func decode(_ span: RawSpan) -> StoredChannel? {
    var reader = ByteReader(span)
    guard let id = reader.bytes16(), let creator = reader.bytes(20),
      let creation = reader.bytes(16), let flags = reader.u8(), flags < 8,
      let order = reader.u32(), let admits = reader.u64(), let turns = reader.u64(),
      let inviter = reader.bytes16(), let name = reader.text(limit: SafeText.nameLimit),
      let epochs = epochs(&reader), let roster = roster(&reader), reader.isComplete
    else { return nil }
    var channel = StoredChannel(
      id: ChannelID(id), name: name, creator: creator, creation: creation, epochs: epochs)
    channel.roster = roster
    channel.admitReserve = admits
    channel.turnReserve = turns
    channel.joining = flags & 1 != 0
    channel.isCurrent = flags & 2 != 0
    channel.inviter = flags & 4 != 0 ? PeerID(inviter) : nil
    channel.order = order
    return channel
  }

  private static func epochs(_ reader: inout ByteReader) -> [Epoch]? {
    guard let count = reader.u8(), count <= epochLimit else { return nil }
    var epochs: [Epoch] = []
    for _ in 0..<count {
      guard let number = reader.u64(), let secret = reader.secret(secretSize) else { return nil }
      epochs.append(Epoch(number: number, secret: secret))
    }
    return epochs
  }

  private static func roster(_ reader: inout ByteReader) -> [[UInt8]]? {
    guard let count = reader.u16(), count <= rosterLimit else { return nil }
    var roster: [[UInt8]] = []
    for _ in 0..<count {
      guard let size = reader.u16(), size <= rosterRecordLimit,
        let admit = reader.bytes(Int(size))
      else { return nil }
      roster.append(admit)
    }
    return roster
  }
}
