import Glibc
import TalkCore

extension StateDirectory {
  /// The node's identity; nil on a first start, or when the first start was cut short before it
  /// was saved. Throws `missing` when channels or later starts are there without it: a new
  /// identity is never made silently.
  package func loadIdentity() throws(StoreError) -> StoredIdentity? {
    if let identity = try load(.identity, StoredIdentity.decode) { return identity }
    guard try channelFiles().isEmpty, try load(.boot, StoredBoot.decode)?.count ?? 1 == 1 else {
      throw .missing(location(of: .identity).path)
    }
    return nil
  }

  /// Every channel, by `order`, then by id.
  package func loadChannels() throws(StoreError) -> [StoredChannel] {
    var channels: [StoredChannel] = []
    for id in try channelFiles() {
      guard let channel = try load(.channel(id), StoredChannel.decode) else { continue }
      guard channel.id == id else { throw .damaged(location(of: .channel(id)).path) }
      channels.append(channel)
    }
    return channels.sorted { ($0.order, $0.id) < ($1.order, $1.id) }
  }

  /// The remembered endpoints that are at most seven days old at `now` (seconds since 1970).
  package func loadPeers(now: UInt64) throws(StoreError) -> StoredPeers {
    let peers = try load(.peers, StoredPeers.decode)
    return StoredPeers(peers?.entries ?? [], now: now)
  }

  /// Counts this start and keeps the count on disk before it returns. Call it once, and on a first
  /// start before the identity is saved. Throws `missing` when an identity is there without a
  /// count: counting from one again would repeat numbers.
  package func countBoot() throws(StoreError) -> UInt64 {
    guard try loadIdentity() != nil else {
      try write(.boot(StoredBoot(count: 1)))
      return 1
    }
    guard let last = try load(.boot, StoredBoot.decode) else {
      throw .missing(location(of: .boot).path)
    }
    let (next, over) = last.count.addingReportingOverflow(1)
    guard !over else { throw .damaged(location(of: .boot).path) }
    try write(.boot(StoredBoot(count: next)))
    return next
  }

  /// Reads and checks one record; nil when the file is not there.
  func load<Record>(
    _ file: StoreFile, _ decode: (RawSpan) -> Record?
  ) throws(StoreError) -> Record? {
    let (folder, name, path) = location(of: file)
    guard var bytes = try FileCheck.read(name, in: folder, path: path) else { return nil }
    defer { SecretBytes.wipe(&bytes) }
    let body = try RecordFormat.open(bytes, kind: file.kind, path: path)
    guard let record = unsafe decode(bytes.span.bytes.extracting(body)) else {
      throw .damaged(path)
    }
    vetted.insert(file)
    return record
  }

  /// The ids of the channels that have a file. A name that is no UUID is not ours: it is refused
  /// rather than passed over, since a lost channel would look like one that never was.
  func channelFiles() throws(StoreError) -> [ChannelID] {
    let path = "\(self.path)/\(Self.channelsName)"
    var ids: [ChannelID] = []
    for name in try FileCheck.names(in: channels, path: path) {
      guard let id = ChannelID(name) else { throw .notOurs("\(path)/\(SafeText.escaped(name))") }
      ids.append(id)
    }
    guard ids.count <= Self.channelLimit else { throw .tooLarge(path) }
    return ids
  }
}
