package import TalkCore
package import TalkCrypto

/// Why an ADMIT is not taken into the roster.
package enum AdmitRefusal: Error, Hashable, Sendable {
  /// Not a record, or of a role or class that we do not know: its writer is broken or later.
  case malformed
  /// Of another channel: its sender mixed them up.
  case otherChannel
  /// Of an epoch that we have not reached: we missed a change of the secret.
  case laterEpoch
  /// Two identities with one PeerID: the first stays, the other must make a new identity.
  case collision
  /// The signature is not the author's: its sender forged or damaged it.
  case badSignature
  /// Says of itself that it is the creator, and is not.
  case notCreator
  /// Says something of the creator, whose place follows from the channel's name alone.
  case rootIsFixed
  /// The author may not grant that; an admin may.
  case notAllowed
  /// More than eight records from the creator; someone nearer to the creator may admit.
  case tooDeep
  /// 1,024 members or 4,096 records: the channel takes no more.
  case full
}

/// One member, as the roster has it.
package struct Member: Equatable, Sendable {
  /// The name on the wire.
  package var id: PeerID
  /// Both public keys.
  package var identity: PublicIdentity
  /// What the member may do.
  package var role: Role
  /// Which classes of speech it may ask for.
  package var classes: FloorClasses
  /// Who admitted it.
  package var admittedBy: PeerID
}

/// What became of a batch of records.
package struct MergeResult: Equatable, Sendable {
  /// Records that are in the roster now and were not, waiting ones included.
  package var accepted = 0
  /// Records that told nothing new.
  package var known = 0
  /// Records that wait, after this batch, until their author is known or may grant that.
  package var waiting = 0
  /// Why others were refused, in the order they came.
  package var refused: [AdmitRefusal] = []
  /// Who became a member, or whose role or classes changed, in the order of ids.
  package var changed: [PeerID] = []

  /// Nothing happened yet.
  package init() {}
}

/// Who belongs to a channel: a set of signed ADMITs that all lead to the creator, equal for all
/// who have the same records, in whatever order they came (session.md, "Roster").
///
/// Drive it so: `merge` what peers send and what the store kept; `admit` a newcomer with the own
/// identity; send the result of `chain` in AUTH; keep `bodies` in the store. It has no time.
///
/// Members admit plain members; only admins admit admins, and set classes and listen-only. Rights
/// once granted stay (a kick takes them away, not a later record). What holds of a member is one of
/// its records: an admin's word before a member's, admin role before any other, then the higher
/// number, then the smaller author. An author numbers above all admins' records of that member,
/// so that the later wish of two admins who know of each other holds.
package struct Roster: Sendable {
  /// The most members.
  package static let memberLimit = 1_024
  /// The most records; honest nodes need little more than one a member.
  package static let recordLimit = 4_096
  /// The most records from the creator's to a member's, both included.
  package static let depthLimit = 8
  /// The most records that wait for their author; the oldest makes room.
  package static let waitingLimit = 256

  /// A record that waits, and whether its signature was verified already.
  struct Waiting: Sendable {
    var admit: Admit
    var isVerified: Bool
  }

  /// The shortest chain that makes someone something: its length, and its last record.
  struct Link: Sendable {
    var depth: Int
    var via: AdmitKey
  }

  /// What follows from the records about one identity.
  struct Person: Sendable {
    var identity: PublicIdentity
    /// As one who may admit members; nil for one who never was more than listen-only.
    var asMember: Link?
    var asAdmin: Link?
    /// The record that holds.
    var effective: AdmitKey
    /// Whether it wrote any record that was taken in.
    var isAuthor = false
  }

  /// The channel.
  package let channel: ChannelID
  /// The fingerprint of the root.
  package let creator: Fingerprint
  /// The epoch that we have reached.
  package let epoch: UInt64
  /// BLAKE2b-128("talkaround roster v1" ‖ all records in the order of their keys).
  package private(set) var digest: Bytes16

  var records = OrderedTable<AdmitKey, Admit>(limit: recordLimit)
  var people = OrderedTable<PeerID, Person>(limit: memberLimit)
  var waiting: [Waiting] = []
  /// How many signatures were verified: each record's once.
  package internal(set) var verifications = 0

  /// An empty roster of the channel whose name follows from `creator`, as an invite proves it.
  package init(channel: ChannelID, creator: Fingerprint, epoch: UInt64 = 0) {
    self.channel = channel
    self.creator = creator
    self.epoch = epoch
    digest = Self.digest(of: OrderedTable(limit: Self.recordLimit))
  }

  /// The roster of a channel that `creator` makes: its self-ADMIT alone.
  package init(channel: ChannelID, createdBy creator: Identity, epoch: UInt64 = 0) {
    self.init(channel: channel, creator: creator.publicIdentity.fingerprint, epoch: epoch)
    let root = Admit(
      creator.publicIdentity, channel: channel, epoch: epoch, number: 1, role: .admin,
      classes: .all, signedBy: creator)
    var result = MergeResult()
    insert(root, into: &result)
    updateDigest()
  }

  mutating func updateDigest() { digest = Self.digest(of: records) }

  private static func digest(of records: OrderedTable<AdmitKey, Admit>) -> Bytes16 {
    var hash = Blake2b(size: 16)
    hash.update("talkaround roster v1")
    for record in records.values { hash.update(record.bytes) }
    return hash.finalize16()
  }

  // MARK: Answers

  /// How many members there are.
  package var memberCount: Int { people.count }
  /// How many records there are.
  package var recordCount: Int { records.count }

  /// Whether `peer` is a member.
  package func isMember(_ peer: PeerID) -> Bool { people.index(of: peer) != nil }

  /// What the roster has of `peer`; nil for one who is no member.
  package func member(_ peer: PeerID) -> Member? {
    people.index(of: peer).flatMap { member(at: $0) }
  }

  /// Every member, in the order of their ids.
  package var members: [Member] { people.indices.compactMap(member(at:)) }

  private func member(at index: Int) -> Member? {
    let (id, person) = people.entry(at: index)
    guard let record = records[person.effective] else { return nil }
    return Member(
      id: id, identity: person.identity, role: record.role, classes: record.classes,
      admittedBy: record.by)
  }

  /// The records that prove `peer` a member, the creator's self-ADMIT first, at most eight; empty
  /// for one who is no member.
  package func chain(for peer: PeerID) -> [[UInt8]] {
    var result: [[UInt8]] = []
    var next = people[peer]?.effective
    while let key = next, let record = records[key], result.count < Self.depthLimit {
      result.append(record.bytes)
      guard record.by != record.id, let author = people[record.by] else { break }
      next = key.grade.needsAdmin ? author.asAdmin?.via : author.asMember?.via
    }
    return result.reversed()
  }

  /// All records, each after its author's, for the store.
  package var bodies: [[UInt8]] {
    records.indices.map { (place(at: $0), $0) }.sorted { $0.0 < $1.0 }
      .map { records[at: $0.1].bytes }
  }

  /// A place in the order in which records are pushed: authors before those whom they admit.
  package struct RecordCursor: Hashable, Comparable, Sendable {
    var depth: Int
    var key: AdmitKey

    /// Orders by the length of the chain, then by key.
    package static func < (left: RecordCursor, right: RecordCursor) -> Bool {
      (left.depth, left.key) < (right.depth, right.key)
    }
  }

  /// The record behind `cursor` (the first when that is nil); nil at the end.
  package func record(after cursor: RecordCursor?) -> (cursor: RecordCursor, body: [UInt8])? {
    var best: (cursor: RecordCursor, index: Int)?
    for index in records.indices {
      let place = place(at: index)
      if let cursor, place <= cursor { continue }
      if let best, best.cursor <= place { continue }
      best = (place, index)
    }
    return best.map { ($0.cursor, records[at: $0.index].bytes) }
  }

  private func place(at index: Int) -> RecordCursor {
    let key = records.entry(at: index).key
    return RecordCursor(depth: depth(of: key) ?? 0, key: key)
  }

  /// The body of the record at a place; nil when it is no longer there.
  package func record(at cursor: RecordCursor) -> [UInt8]? { records[cursor.key]?.bytes }

  /// The length of the shortest chain that ends with a record; nil when its author may not write
  /// it.
  func depth(of key: AdmitKey) -> Int? {
    guard key.id != key.by else { return 1 }
    guard let author = people[key.by] else { return nil }
    return (key.grade.needsAdmin ? author.asAdmin : author.asMember).map { $0.depth + 1 }
  }
}
