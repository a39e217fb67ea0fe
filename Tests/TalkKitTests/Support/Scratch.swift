import Foundation
import Glibc

/// A folder of its own for a test, gone afterwards.
final class Scratch: Sendable {
  let path: String

  init() {
    path = "/tmp/tk-\(UUID().uuidString.prefix(13))"
    try! FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var socket: String { "\(path)/control.sock" }
}

/// The permission bits of a path, without following links; nil when it is not there.
func mode(_ path: String) -> mode_t? {
  var info = stat()
  return lstat(path, &info) == 0 ? info.st_mode & 0o777 : nil
}
