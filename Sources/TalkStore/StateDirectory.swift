import Glibc
import TalkCore

/// The folder in which a node keeps its identity, channels and remembered peers: 0700, its files
/// 0600, nothing in it a symbolic link, one process at a time.
///
/// Open it first, then load what is there; whoever holds the object holds the lock. What could not
/// be read is never overwritten (session.md, "Keys at rest"). All calls are relative to the opened
/// folder, so renaming it under a running node does no harm. Not for the node's loop: every call
/// may wait for the disk; `StoreWriter` writes for the loop.
@safe package final class StateDirectory: Sendable {
  /// Where the folder is, for messages and the control socket.
  package let path: String
  let root: Descriptor
  let channels: Descriptor
  private let lockFile: Descriptor
  let vetted = VettedFiles()
  let told = Notices()

  /// The most channels that a node keeps.
  package static let channelLimit = 64
  static let channelsName = "channels"
  static let lockName = "lock"

  /// `$XDG_DATA_HOME/talkaround`, else `$HOME/.local/share/talkaround` (XDG Base Directory
  /// Specification); a relative XDG_DATA_HOME is ignored, as it says.
  package static func defaultPath(environment: [String: String]) throws(StoreError) -> String {
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
      return "\(data)/talkaround"
    }
    guard let home = environment["HOME"], home.hasPrefix("/") else { throw .noHome }
    return "\(home)/.local/share/talkaround"
  }

  /// Opens the folder at `path`, making it where it is not there, and takes its lock. Throws for
  /// loose modes, a foreign owner, a symbolic link, or a second copy.
  package init(path: String) throws(StoreError) {
    var trimmed = Substring(path)
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    let path = String(trimmed)
    self.path = path
    try Self.makeParents(of: path)
    root = try Self.openFolder(at: AT_FDCWD, name: path, path: path)
    lockFile = try Self.lock(root, path: "\(path)/\(Self.lockName)")
    let channelsPath = "\(path)/\(Self.channelsName)"
    channels = try Self.openFolder(at: root.number, name: Self.channelsName, path: channelsPath)
    try removeLeftovers()
  }

  private static func makeParents(of path: String) throws(StoreError) {
    var end = path.startIndex
    while let slash = path[end...].dropFirst().firstIndex(of: "/") {
      let parent = String(path[..<slash])
      guard unsafe mkdir(parent, 0o700) == 0 || errno == EEXIST else {
        throw .of(errno, call: "mkdir", path: parent)
      }
      end = slash
    }
  }

  private static func openFolder(
    at base: Int32, name: String, path: String
  ) throws(StoreError) -> Descriptor {
    let made = unsafe mkdirat(base, name, 0o700) == 0
    guard made || errno == EEXIST else { throw .of(errno, call: "mkdir", path: path) }
    let number = unsafe openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else {
      let reason = errno
      var info = stat()
      let seen = unsafe fstatat(base, name, &info, AT_SYMLINK_NOFOLLOW) == 0
      if seen, info.st_mode & S_IFMT == S_IFLNK { throw .symbolicLink(path) }
      throw reason == ENOTDIR ? .notADirectory(path) : .of(reason, call: "open", path: path)
    }
    let folder = Descriptor(number)
    try FileCheck.ownedByUs(folder, path: path)
    return folder
  }

  /// flock(2): gone with the process, however it ends.
  private static func lock(_ root: Descriptor, path: String) throws(StoreError) -> Descriptor {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let number = unsafe openat(root.number, lockName, flags, mode_t(0o600))
    guard number >= 0 else { throw .of(errno, call: "open", path: path) }
    let file = Descriptor(number)
    try FileCheck.plainFile(file, path: path)
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .of(errno, call: "flock", path: path) }
      let text = (try? file.readAll(limit: 16, path: path)) ?? []
      throw .inUse(path, process: Int32(String(decoding: text, as: UTF8.self)))
    }
    guard ftruncate(number, 0) == 0 else { throw .of(errno, call: "ftruncate", path: path) }
    try file.writeAll(Array(String(getpid()).utf8), path: path)
    return file
  }

  /// Where `file` is: the folder, the name in it, and the whole path.
  func location(of file: StoreFile) -> (folder: Descriptor, name: String, path: String) {
    switch file {
    case .identity: (root, "identity", "\(path)/identity")
    case .peers: (root, "peers", "\(path)/peers")
    case .boot: (root, "boot", "\(path)/boot")
    case .names: (root, "names", "\(path)/names")
    case .channel(let id):
      (channels, id.description, "\(path)/\(Self.channelsName)/\(id)")
    }
  }
}
