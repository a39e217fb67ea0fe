import Glibc

/// The listening end of the control socket: 0600 in a folder that is ours alone.
final class ControlListener: Sendable {
  let path: String
  let descriptor: Int32
  private let device: dev_t
  private let inode: ino_t

  /// Binds at `path`. A socket that is there already is replaced only when nobody answers at it;
  /// anything else that stands there is left alone. The folder is made when it is not there.
  init(path: String) throws(ControlError) {
    self.path = path
    let address = try UnixAddress(path)
    try Self.checkFolder(of: path)
    try Self.removeStale(path, address)
    let number = try UnixAddress.makeSocket(path: path)
    do throws(ControlError) {
      let bound = unsafe address.withPointer { unsafe bind(number, $0, $1) }
      guard bound == 0 else { throw Self.error(errno, call: "bind", path: path) }
      // Before listen(2) nobody can connect, so nobody can come in between.
      guard unsafe chmod(path, 0o600) == 0 else {
        throw .failed(path, call: "chmod", errno: errno)
      }
      guard listen(number, Int32(ControlLimits.clients)) == 0 else {
        throw .failed(path, call: "listen", errno: errno)
      }
      var info = stat()
      guard unsafe lstat(path, &info) == 0 else {
        throw .failed(path, call: "lstat", errno: errno)
      }
      device = info.st_dev
      inode = info.st_ino
    } catch {
      close(number)
      throw error
    }
    UnixAddress.makeNonBlocking(number)
    descriptor = number
  }

  /// Ends listening; removes the socket, if it is still ours.
  func end() {
    close(descriptor)
    var info = stat()
    if unsafe lstat(path, &info) == 0, info.st_dev == device, info.st_ino == inode {
      unsafe unlink(path)
    }
  }

  private static func checkFolder(of path: String) throws(ControlError) {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      throw .badFolder(path, "a control socket needs a folder of its own; use --state DIR")
    }
    let folder = String(path[..<slash])
    guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      if errno == ENOENT {
        throw .badFolder(folder, "its parent is not there; unset XDG_RUNTIME_DIR or mend it")
      }
      throw error(errno, call: "mkdir", path: folder)
    }
    var info = stat()
    guard unsafe lstat(folder, &info) == 0 else { throw error(errno, call: "lstat", path: folder) }
    guard info.st_mode & S_IFMT == S_IFDIR else {
      throw .badFolder(folder, "is not a directory; move it away")
    }
    guard info.st_uid == geteuid() else {
      throw .badFolder(
        folder, "belongs to user \(info.st_uid); set XDG_RUNTIME_DIR to your own, or unset it")
    }
    guard info.st_mode & 0o077 == 0 else {
      throw .badFolder(folder, "others may use it; chmod go= '\(folder)'")
    }
  }

  private static func removeStale(_ path: String, _ address: UnixAddress) throws(ControlError) {
    var info = stat()
    guard unsafe lstat(path, &info) == 0 else { return }
    guard info.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path) }
    let probe = try UnixAddress.makeSocket(path: path)
    defer { close(probe) }
    // A node whose list of waiting clients is full makes a blocking connect(2) wait.
    UnixAddress.makeNonBlocking(probe)
    let answered = unsafe address.withPointer { unsafe connect(probe, $0, $1) }
    guard answered != 0, errno == ECONNREFUSED else { throw .inUse(path) }
    unsafe unlink(path)
  }

  private static func error(_ number: Int32, call: String, path: String) -> ControlError {
    switch number {
    case EADDRINUSE: .inUse(path)
    case EACCES, EPERM, EROFS: .noPermission(path)
    default: .failed(path, call: call, errno: number)
    }
  }
}
