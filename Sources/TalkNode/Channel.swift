package import TalkCore
package import TalkCrypto
import TalkFloor
import TalkMesh
import TalkSession
import TalkWire

/// What must be kept of a channel over a restart: its secret, its roster, its place.
package struct ChannelRecord: Sendable {
  /// The channel.
  package var id: ChannelID
  /// What its people call it.
  package var name: String
  /// The fingerprint of its root.
  package var creator: Fingerprint
  /// The random part of its name, which proves the creator.
  package var random: Bytes16
  /// The number of the secret.
  package var epoch: UInt64
  /// S_n.
  package var secret: Secret
  /// The roster's records.
  package var admits: [[UInt8]]
  /// The turns that may have been used.
  package var turnReserve: UInt64
  /// True while nobody has admitted us yet.
  package var joining: Bool
  /// Whose invite we had.
  package var inviter: PeerID?

  /// Makes a record of its parts.
  package init(
    id: ChannelID, name: String, creator: Fingerprint, random: Bytes16, epoch: UInt64,
    secret: Secret, admits: [[UInt8]], turnReserve: UInt64, joining: Bool, inviter: PeerID?
  ) {
    self.id = id
    self.name = name
    self.creator = creator
    self.random = random
    self.epoch = epoch
    self.secret = secret
    self.admits = admits
    self.turnReserve = turnReserve
    self.joining = joining
    self.inviter = inviter
  }
}

/// One channel of the node: its machines side by side, and which session leads to which member.
final class Channel {
  /// What is known of a peer besides its presence.
  struct Peer {
    var link: LinkID
    var nickname: String
    var endpoint: Endpoint
    var boot: UInt64
  }

  /// A burst of ours whose listeners' reports are awaited.
  struct OwnBurst {
    var token: Token
    var audience: [PeerID]
    var frames: UInt32
    var heard: [PeerID] = []
    var reported: Int = 0
    var until: Instant?
  }

  /// How long listeners' reports are waited for.
  static let reportWait = Duration.milliseconds(600)

  let id: ChannelID
  var name: String
  let creator: Fingerprint
  let random: Bytes16
  let epoch: UInt64
  let secret: Secret
  let keys: ChannelKeys
  var roster: Roster
  var floor: FloorMachine
  var presence: Presence
  var sync = RosterSync()
  var window = AdmitWindow()
  var helloSchedule: HelloSchedule
  var helloWindow = HelloWindow()
  var peers = OrderedTable<PeerID, Peer>(limit: 1_024)
  /// The names that members had when they were last here.
  var nicknames = OrderedTable<PeerID, String>(limit: 1_024)
  /// Members that are away, and since when; their sessions end after a while.
  var away = OrderedTable<PeerID, Instant>(limit: 1_024)
  var turnReserve: UInt64
  var joining: Bool
  let inviter: PeerID?
  var ownBurst: OwnBurst?

  /// Builds a channel's machines; nil when memory for its keys can't be had.
  init?(
    _ record: ChannelRecord, identity: Identity, firstRequest: UInt64, memory: Secret.Memory,
    seed: UInt64, now: Instant
  ) {
    guard
      let keys = record.secret.withBytes({ ChannelKeys(secret: $0, memory: memory) })
    else { return nil }
    id = record.id
    name = record.name
    creator = record.creator
    random = record.random
    epoch = record.epoch
    secret = record.secret
    self.keys = keys
    roster = Roster(channel: record.id, creator: record.creator, epoch: record.epoch)
    _ = roster.merge(record.admits)
    turnReserve = record.turnReserve
    joining = record.joining && !roster.isMember(identity.publicIdentity.peerID)
    inviter = record.inviter
    floor = FloorMachine(
      identity: identity, channel: record.id, timers: FloorTimers(),
      reservedTurn: record.turnReserve, firstRequest: firstRequest,
      strict: ChannelRules(random: record.random).contains(.strict), now: now)
    presence = Presence(started: now)
    helloSchedule = HelloSchedule(now: now, seed: seed)
    for member in roster.members { tellFloor(of: member) }
  }

  /// What must be kept of the channel.
  var record: ChannelRecord {
    ChannelRecord(
      id: id, name: name, creator: creator, random: random, epoch: epoch, secret: secret,
      admits: roster.bodies, turnReserve: turnReserve, joining: joining, inviter: inviter)
  }

  /// Tells the floor what the roster says of a member.
  func tellFloor(of member: Member) {
    floor.setMember(
      member.id,
      FloorMember(
        signingKey: member.identity.signing, maySpeak: member.role != .listenOnly,
        classes: member.classes.rawValue))
  }

  /// The name to show for a member: as it calls itself, else the start of its id.
  func nickname(_ peer: PeerID) -> String {
    peers[peer]?.nickname ?? nicknames[peer] ?? peer.short
  }

  /// When one of the machines wants to be woken.
  var deadline: Instant? {
    var earliest = floor.deadline
    func consider(_ instant: Instant?) { earliest = .earliest(earliest, instant) }
    consider(presence.deadline)
    consider(sync.deadline)
    consider(window.deadline)
    consider(helloSchedule.deadline)
    consider(ownBurst?.until)
    for since in away.values { consider(since + Node.forgetAway) }
    return earliest
  }
}
