import FoundationEssentials
import Glibc
import TalkCore
import TalkCrypto
import TalkNode
import TalkStore

import CLinux

/// What the node knows when it starts: read from the state directory, or made on the first run.
struct StartState {
  var identity: Identity
  var nickname: String
  var channels: [ChannelRecord]
  var current: ChannelID?
  var peers: StoredPeers
  var names: StoredNames
  var boots: UInt64
  var notices: [String] = []

  /// Reads the state; makes an identity where there is none. Nothing that cannot be read is ever
  /// replaced.
  init(
    directory: StateDirectory, nickname wanted: String?
  ) throws(NodeServiceError) {
    do {
      // First, so that a state without a start count is one that lost it, not a new one.
      boots = try directory.countBoot()
      var stored = try directory.loadIdentity()
      if var known = stored, let wanted = wanted.flatMap(SafeText.name), wanted != known.nickname {
        known.nickname = wanted
        try directory.write(.identity(known))
        stored = known
      }
      let record = try stored ?? Self.makeIdentity(directory, nickname: wanted)
      guard
        let identity = Identity(
          signingSeed: record.signingSeed.copy(), agreementSecret: record.agreementSecret.copy())
      else { throw NodeServiceError.unavailable("no memory for secrets; raise 'ulimit -l'") }
      self.identity = identity
      nickname = record.nickname
      if record.isElsewhere(than: MachineID.hash()) {
        notices.append(
          "\(directory.path)/identity was made on another machine: if both run, the later one "
            + "must have an identity of its own (start it with another --state DIR)")
      }
      let savedChannels = try directory.loadChannels()
      channels = try Self.records(of: savedChannels)
      current = savedChannels.first { $0.isCurrent }?.id
      peers = directory.loadPeers(now: UInt64(Date().timeIntervalSince1970))
      names = directory.loadNames()
      notices += directory.takeNotices()
    } catch let error as StoreError {
      throw NodeServiceError(error)
    } catch let error as NodeServiceError {
      throw error
    } catch {
      throw .state("\(error)")
    }
  }

  private static func makeIdentity(
    _ directory: StateDirectory, nickname: String?
  ) throws -> StoredIdentity {
    var seed = Entropy.bytes(32)
    var secret = Entropy.bytes(32)
    defer {
      Secret.wipe(&seed)
      Secret.wipe(&secret)
    }
    let user = Environment.value("USER")
    let host = Environment.hostName
    let name =
      nickname.flatMap(SafeText.name) ?? user.flatMap { $0 == "root" ? nil : SafeText.name($0) }
      ?? SafeText.name(host) ?? "someone"
    let record = StoredIdentity(
      signingSeed: SecretBytes(seed), agreementSecret: SecretBytes(secret), nickname: name,
      machine: MachineID.hash())
    try directory.write(.identity(record))
    return record
  }

  private static func records(of stored: [StoredChannel]) throws -> [ChannelRecord] {
    try stored.sorted { ($0.order, $0.id) < ($1.order, $1.id) }.map { channel in
      guard let epoch = channel.epochs.last, let creator = Fingerprint(channel.creator) else {
        throw NodeServiceError.state("channel \(channel.id) has no secret; join it again")
      }
      var bytes = epoch.secret.copy()
      defer { Secret.wipe(&bytes) }
      guard let secret = Secret(bytes) else {
        throw NodeServiceError.unavailable("no memory for secrets; raise 'ulimit -l'")
      }
      return ChannelRecord(
        id: channel.id, name: channel.name, creator: creator,
        random: Bytes16(channel.creation), epoch: epoch.number, secret: secret,
        admits: channel.roster, turnReserve: channel.turnReserve, joining: channel.joining,
        inviter: channel.inviter)
    }
  }
}

extension ChannelRecord {
  /// The record as the store keeps it.
  func stored(order: UInt32, isCurrent: Bool) -> StoredChannel {
    let secret = secret.withBytes { SecretBytes($0) }
    var channel = StoredChannel(
      id: id, name: name, creator: creator.bytes, creation: random.bytes,
      epochs: [StoredChannel.Epoch(number: epoch, secret: secret)])
    channel.roster = admits
    channel.turnReserve = turnReserve
    channel.joining = joining
    channel.inviter = inviter
    channel.order = order
    channel.isCurrent = isCurrent
    return channel
  }
}

/// Random bytes of the kernel (getrandom(2)).
enum Entropy {
  /// `count` fresh bytes; the process ends when the kernel has none to give, since nothing safe
  /// could be done without.
  static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
    return bytes
  }

  /// Fills a buffer.
  static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    guard unsafe talk_getrandom(buffer.baseAddress, buffer.count) == 0 else {
      fatalError("getrandom failed: \(errno)")
    }
  }

  /// A random number.
  static func number() -> UInt64 {
    bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
