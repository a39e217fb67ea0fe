import Glibc
package import TalkCore

extension StateDirectory {
  /// Puts `record` on disk, whole or not at all: temporary file, fsync, rename, fsync of the
  /// folder. Throws, and leaves the old file as it was, when the disk is full, or when the old file
  /// is one that could not be read. Waits for the disk.
  package func write(_ record: StoredRecord) throws(StoreError) {
    try vet(record.file)
    try commit(try prepare(record))
  }

  /// Removes a channel's file, for good before it returns; no error when it is not there.
  package func remove(_ channel: ChannelID) throws(StoreError) {
    let (folder, name, path) = location(of: .channel(channel))
    if unsafe unlinkat(folder.number, name, 0) != 0 {
      let reason = errno
      // A read-only file system says so of a file that is not there, too.
      guard try exists(name, in: folder, path: path) else { return }
      throw .of(reason, call: "unlink", path: path)
    }
    vetted.remove(.channel(channel))
    try folder.sync(path: path)
  }

  /// True when something of that name is in the folder.
  func exists(
    _ name: String, in folder: Descriptor, path: String
  ) throws(StoreError) -> Bool {
    var info = stat()
    if unsafe fstatat(folder.number, name, &info, AT_SYMLINK_NOFOLLOW) == 0 { return true }
    guard errno == ENOENT else { throw .of(errno, call: "fstatat", path: path) }
    return false
  }

  /// A record that is safely in its temporary file, but not yet in its place.
  struct Prepared {
    let file: StoreFile
    let temporary: String
  }

  /// Writes the temporary file and syncs it.
  func prepare(_ record: StoredRecord) throws(StoreError) -> Prepared {
    let (folder, name, path) = location(of: record.file)
    var body = record.encode()
    var bytes = RecordFormat.seal(kind: record.file.kind, body: body)
    defer {
      SecretBytes.wipe(&body)
      SecretBytes.wipe(&bytes)
    }
    let temporary = Self.temporaryPrefix + name
    unsafe unlinkat(folder.number, temporary, 0)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let number = unsafe openat(folder.number, temporary, flags, mode_t(0o600))
    guard number >= 0 else { throw .of(errno, call: "open", path: path) }
    let file = Descriptor(number)
    do throws(StoreError) {
      try file.writeAll(bytes, path: path)
      try file.sync(path: path)
    } catch {
      unsafe unlinkat(folder.number, temporary, 0)
      throw error
    }
    return Prepared(file: record.file, temporary: temporary)
  }

  /// Puts a prepared record in its place.
  func commit(_ prepared: Prepared) throws(StoreError) {
    let (folder, name, path) = location(of: prepared.file)
    guard
      unsafe renameat(folder.number, prepared.temporary, folder.number, name) == 0
    else {
      let reason = errno
      unsafe unlinkat(folder.number, prepared.temporary, 0)
      throw .of(reason, call: "rename", path: path)
    }
    vetted.insert(prepared.file)
    try folder.sync(path: path)
  }

  /// Throws unless the file is absent, was written by us, or can be read and is whole.
  private func vet(_ file: StoreFile) throws(StoreError) {
    guard !vetted.contains(file) else { return }
    switch file {
    case .identity: _ = try load(file, StoredIdentity.decode)
    case .channel: _ = try load(file, StoredChannel.decode)
    case .peers: _ = try load(file, StoredPeers.decode)
    case .boot: _ = try load(file, StoredBoot.decode)
    case .names: _ = try load(file, StoredNames.decode)
    }
  }

  static let temporaryPrefix = ".new-"

  /// A crash between the temporary file and the rename leaves the former; the record in place is
  /// the whole one.
  func removeLeftovers() throws(StoreError) {
    for (folder, path) in [(root, path), (channels, "\(path)/\(Self.channelsName)")] {
      for name in try FileCheck.names(in: folder, path: path, hidden: true)
      where name.hasPrefix(Self.temporaryPrefix) {
        unsafe unlinkat(folder.number, name, 0)
      }
    }
  }
}

/// Which files this process has read or written whole, and may therefore replace.
final class VettedFiles: Sendable {
  private let lock = Lock()
  private nonisolated(unsafe) var files: Set<StoreFile> = []

  func insert(_ file: StoreFile) { lock.withLock { _ = unsafe files.insert(file) } }
  func remove(_ file: StoreFile) { lock.withLock { _ = unsafe files.remove(file) } }
  func contains(_ file: StoreFile) -> Bool { lock.withLock { unsafe files.contains(file) } }
}
