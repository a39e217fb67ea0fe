import Glibc
import TalkCore

/// What is in a state directory, looked at without changing anything and without its lock: for the
/// doctor, beside a node that runs or instead of one that can't.
///
/// Nothing is made, repaired or removed. What can't be read is a fault with its file and place.
package struct StateInspection: Sendable {
  /// One thing that is wrong with the directory or a file in it.
  package struct Fault: Equatable, Sendable {
    /// The file or folder.
    package var path: String
    /// What is wrong and the cure, in one line that begins with the path.
    package var error: StoreError
    /// Where in the file, such as "ends at byte 40"; empty for a file as a whole.
    package var place: String
    /// True for a file that a node can do without: what it remembers of others' addresses.
    package var isCache = false
  }

  /// True when there is a directory.
  package private(set) var isThere = false
  /// What is wrong, in the order of the files.
  package private(set) var faults: [Fault] = []
  /// Who we are; nil on a first start, or when it can't be read.
  package private(set) var identity: StoredIdentity?
  /// The channels that can be read.
  package private(set) var channels: [StoredChannel] = []
  /// Where members were met lately; none when it can't be read.
  package private(set) var peers: [StoredPeers.Entry] = []
  /// The process that holds the lock, as /proc/locks shows it; nil when nobody does.
  package private(set) var lockHolder: Int32?

  /// Looks at the directory at `path`; `now` is in seconds since 1970.
  package init(path: String, now: UInt64) {
    var trimmed = Substring(path)
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    let path = String(trimmed)
    guard let root = openFolder(at: AT_FDCWD, name: path, path: path) else { return }
    isThere = true
    lockHolder = Self.holder(of: root)
    identity = read("identity", .identity, in: root, "\(path)/identity", StoredIdentity.decode)
    let peers = read("peers", .peers, in: root, "\(path)/peers", StoredPeers.decode)
    self.peers = StoredPeers(peers?.entries ?? [], now: now).entries
    _ = read("boot", .boot, in: root, "\(path)/boot", StoredBoot.decode)
    readChannels(in: root, "\(path)/\(StateDirectory.channelsName)")
    guard identity == nil, !channels.isEmpty,
      !faults.contains(where: { $0.path == "\(path)/identity" })
    else { return }
    faults.append(Fault(path: path, error: .missing("\(path)/identity"), place: ""))
  }

  private mutating func readChannels(in root: Descriptor, _ path: String) {
    guard
      let folder = openFolder(at: root.number, name: StateDirectory.channelsName, path: path)
    else { return }
    let names: [String]
    do throws(StoreError) {
      names = try FileCheck.names(in: folder, path: path)
    } catch {
      faults.append(Fault(path: path, error: error, place: ""))
      return
    }
    for name in names.prefix(StateDirectory.channelLimit) {
      let file = "\(path)/\(SafeText.escaped(name))"
      guard let id = ChannelID(name) else {
        faults.append(Fault(path: file, error: .notOurs(file), place: ""))
        continue
      }
      guard let channel = read(name, .channel, in: folder, file, StoredChannel.decode) else {
        continue
      }
      if channel.id == id {
        channels.append(channel)
      } else {
        faults.append(Fault(path: file, error: .damaged(file), place: "another channel's file"))
      }
    }
  }

  /// Opens a folder; nil when it is not there or not to be used, which is noted.
  private mutating func openFolder(at base: Int32, name: String, path: String) -> Descriptor? {
    var info = stat()
    guard unsafe fstatat(base, name, &info, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno != ENOENT { note(.of(errno, call: "stat", path: path), path) }
      return nil
    }
    if info.st_mode & S_IFMT == S_IFLNK {
      note(.symbolicLink(path), path)
      return nil
    }
    let number = unsafe openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else {
      note(errno == ENOTDIR ? .notADirectory(path) : .of(errno, call: "open", path: path), path)
      return nil
    }
    let folder = Descriptor(number)
    do throws(StoreError) {
      try FileCheck.ownedByUs(folder, path: path)
    } catch {
      // Modes can be mended, and what is inside may have faults of its own.
      note(error, path)
    }
    return folder
  }

  private mutating func note(_ error: StoreError, _ path: String, _ place: String = "") {
    faults.append(Fault(path: path, error: error, place: place))
  }

  private mutating func read<Record>(
    _ name: String, _ kind: RecordKind, in folder: Descriptor, _ path: String,
    _ decode: (RawSpan) -> Record?
  ) -> Record? {
    var size = 0
    do throws(StoreError) {
      guard var bytes = try FileCheck.read(name, in: folder, path: path) else { return nil }
      defer { SecretBytes.wipe(&bytes) }
      size = bytes.count
      let body = try RecordFormat.open(bytes, kind: kind, path: path)
      if let record = unsafe decode(bytes.span.bytes.extracting(body)) { return record }
      faults.append(
        Fault(
          path: path, error: .damaged(path), place: "in bytes \(body.lowerBound) to \(size - 32)",
          isCache: kind == .peers))
    } catch {
      let place = Self.place(of: error, size: size)
      faults.append(Fault(path: path, error: error, place: place, isCache: kind == .peers))
    }
    return nil
  }

  /// Where in a file of `size` bytes the fault is.
  private static func place(of error: StoreError, size: Int) -> String {
    switch error {
    case .empty: "at byte 0"
    case .zeroed: "bytes 0 to \(max(0, size - 1))"
    case .truncated: "ends at byte \(size)"
    case .notOurs: "at byte 0"
    case .newerVersion: "at byte 5"
    case .damaged: "checksum at byte \(max(0, size - RecordFormat.checksumSize))"
    default: ""
    }
  }

  /// Who has locked the directory: the process that /proc/locks names beside the lock's inode.
  /// Asking for the lock itself could make a node fail that starts at this moment.
  private static func holder(of root: Descriptor) -> Int32? {
    var info = stat()
    guard
      unsafe fstatat(root.number, StateDirectory.lockName, &info, AT_SYMLINK_NOFOLLOW) == 0,
      info.st_mode & S_IFMT == S_IFREG
    else { return nil }
    let number = unsafe open("/proc/locks", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = Descriptor(number)
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while text.count < 1 << 20 {
      let got = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(file.number, buffer.baseAddress!, buffer.count)
      }
      guard got > 0 else { break }
      text += chunk[..<got]
    }
    return holder(inode: UInt64(info.st_ino), locks: String(decoding: text, as: UTF8.self))
  }

  /// The process that has a flock(2) on an inode, of the text of /proc/locks (proc(5)): number,
  /// FLOCK, ADVISORY, WRITE, process, major:minor:inode, start, end. The device is left out: some
  /// file systems show another one there than stat(2).
  static func holder(inode: UInt64, locks: String) -> Int32? {
    for line in locks.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE",
        words[5].split(separator: ":").last == "\(inode)", let process = Int32(words[4])
      else { continue }
      return process
    }
    return nil
  }
}

extension StateInspection.Fault {
  /// The folder or file that others may use, where that is the fault: its mode can be mended.
  package var looseMode: String? {
    if case .looseMode(let path, _) = error { return path }
    return nil
  }
}
