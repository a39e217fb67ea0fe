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

  /// The remembered endpoints that are at most seven days old at `now` (seconds since 1970). They
  /// are a cache: a file that cannot be read is set aside.
  package func loadPeers(now: UInt64) -> StoredPeers {
    StoredPeers(loadCache(.peers, StoredPeers.decode)?.entries ?? [], now: now)
  }

  /// What members call themselves; a cache as the endpoints are.
  package func loadNames() -> StoredNames {
    loadCache(.names, StoredNames.decode) ?? StoredNames([])
  }

  /// Counts this start and keeps the count on disk before it returns. Call it once, and on a first
  /// start before the identity is saved. Where the count is gone it goes on from the clock, and a
  /// notice says so: counting from one again would repeat numbers. A count that cannot be read is
  /// refused, for it may have been higher.
  package func countBoot() throws(StoreError) -> UInt64 {
    guard try loadIdentity() != nil else {
      try write(.boot(StoredBoot(count: 1)))
      return 1
    }
    guard let last = try load(.boot, StoredBoot.decode) else {
      let resumed = try laterThanEverything()
      try write(.boot(StoredBoot(count: resumed)))
      told.add("\(location(of: .boot).path) was gone: starts are counted on from \(resumed)")
      return resumed
    }
    let (next, over) = last.count.addingReportingOverflow(1)
    guard !over else { throw .damaged(location(of: .boot).path) }
    try write(.boot(StoredBoot(count: next)))
    return next
  }

  /// Seconds since 1970 by the clock, or by what was last written here if the clock has gone back:
  /// starts are far fewer than seconds, so this is above every count before it.
  private func laterThanEverything() throws(StoreError) -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let folders = [try root.status(path: path), try channels.status(path: path)]
    let latest = folders.reduce(now.tv_sec) { max($0, $1.st_mtim.tv_sec) }
    return UInt64(clamping: latest) + 1
  }

  /// Reads a file that the node can do without: one that cannot be read is moved away.
  private func loadCache<Record>(
    _ file: StoreFile, _ decode: (RawSpan) -> Record?
  ) -> Record? {
    do throws(StoreError) {
      return try load(file, decode)
    } catch {
      let (folder, name, path) = location(of: file)
      let moved = setAside(name, in: folder, path: path)
      let ending = moved.map { "moved to \($0), and begun anew" } ?? "the node goes on without it"
      told.add("\(path): \(error.fault); \(ending)")
      return nil
    }
  }

  /// Renames a file to NAME.damaged, or NAME.damaged-2 … 9 where that is taken: nothing is
  /// overwritten. The new name; nil when it stays where it is.
  private func setAside(_ name: String, in folder: Descriptor, path: String) -> String? {
    for number in 1...9 {
      let aside = ".damaged" + (number == 1 ? "" : "-\(number)")
      guard let isTaken = try? exists(name + aside, in: folder, path: path), !isTaken else {
        continue
      }
      guard unsafe renameat(folder.number, name, folder.number, name + aside) == 0 else {
        return nil
      }
      try? folder.sync(path: path)
      return name + aside
    }
    return nil
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

extension StateDirectory {
  /// What a person should know of what was loaded, a line each; once.
  package func takeNotices() -> [String] { told.takeAll() }
}

/// Lines for a person that arose while files were read.
final class Notices: Sendable {
  private let lock = Lock()
  private nonisolated(unsafe) var lines: [String] = []

  func add(_ line: String) { lock.withLock { unsafe lines.append(line) } }

  func takeAll() -> [String] {
    lock.withLock {
      defer { unsafe lines = [] }
      return unsafe lines
    }
  }
}
