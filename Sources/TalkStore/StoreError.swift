/// Why state on disk cannot be used. Each case names the path, who caused it, and the cure; no
/// case ever carries content of a file.
package enum StoreError: Error, Equatable, Sendable {
  /// Neither XDG_DATA_HOME nor HOME is set: the caller must name a directory.
  case noHome
  /// Something else stands where the directory should be.
  case notADirectory(String)
  /// A folder, socket or device stands where a file should be.
  case notAFile(String)
  /// A symbolic link stands there; following it could read or write elsewhere.
  case symbolicLink(String)
  /// Others than the owner may use it: its mode, as in chmod(1).
  case looseMode(String, mode: UInt32)
  /// It belongs to another user: whose number is given.
  case foreignOwner(String, user: UInt32)
  /// The system does not let us open it (EACCES, EPERM).
  case noPermission(String)
  /// Another copy uses this directory; its process number where known.
  case inUse(String, process: Int32?)
  /// The file is gone although what belongs to it is still there.
  case missing(String)
  /// The file has no bytes, as after a power cut.
  case empty(String)
  /// The file has nothing but zero bytes, as after a power cut.
  case zeroed(String)
  /// The file ends before its record does.
  case truncated(String)
  /// The checksum is wrong, or the record's parts contradict one another.
  case damaged(String)
  /// The file does not begin as a record of ours, or is another kind of record.
  case notOurs(String)
  /// A later version of Talkaround wrote it.
  case newerVersion(String, version: UInt8)
  /// The record is larger than any that we write.
  case tooLarge(String)
  /// The disk or the user's share of it is full; the old file is whole.
  case diskFull(String)
  /// The file system is mounted read-only (EROFS).
  case readOnly(String)
  /// Another call failed: its name and errno. The old file is whole.
  case failed(String, call: String, errno: Int32)

  /// The path that the error is about; nil where there is none.
  package var path: String? {
    switch self {
    case .noHome: nil
    case .notADirectory(let path), .notAFile(let path), .symbolicLink(let path),
      .looseMode(let path, _), .foreignOwner(let path, _), .noPermission(let path),
      .inUse(let path, _), .missing(let path), .empty(let path), .zeroed(let path),
      .truncated(let path), .damaged(let path), .notOurs(let path), .newerVersion(let path, _),
      .tooLarge(let path), .diskFull(let path), .readOnly(let path), .failed(let path, _, _):
      path
    }
  }
}

extension StoreError: CustomStringConvertible {
  /// One line: the path, what is wrong with it, and the cure.
  package var description: String {
    let (what, cure) = explanation
    return path.map { "\($0): \(what); \(cure)" } ?? "\(what); \(cure)"
  }

  /// What is wrong, without the path and the cure.
  var fault: String { explanation.what }

  /// What helps against a file that cannot be read, by what it holds.
  private var restoration: String {
    let parts = (path ?? "").split(separator: "/")
    if parts.dropLast().last == "channels" {
      return "restore it from a backup, or move it out of this folder and join again"
    }
    switch parts.last {
    case "boot": return "move it away; starts are then counted on from the clock"
    case "identity":
      return "restore it from a backup, or begin anew with another --state DIR and an invite"
    default: return "restore it from a backup, or move it away"
    }
  }

  private var explanation: (what: String, cure: String) {
    let restore = restoration
    switch self {
    case .noHome:
      return ("neither XDG_DATA_HOME nor HOME is set", "name a directory with --state DIR")
    case .notADirectory: return ("is not a directory", "move it away")
    case .notAFile: return ("is not a plain file", restore)
    case .symbolicLink: return ("is a symbolic link", "put the real thing in its place")
    case .looseMode(let path, let mode):
      return ("others may use it (mode \(String(mode, radix: 8)))", "chmod go= '\(path)'")
    case .foreignOwner(_, let user):
      return ("belongs to user \(user)", "run as that user, or give it to yourself with chown")
    case .noPermission: return ("permission denied", "check its owner and mode")
    case .inUse(_, let process):
      let who = process.map { "process \($0)" } ?? "another process"
      return ("in use by \(who)", "stop that copy, or use another --state DIR")
    case .missing: return ("is gone, though other state is there", restore)
    case .empty: return ("is empty", restore)
    case .zeroed: return ("holds only zero bytes", restore)
    case .truncated: return ("is cut short", restore)
    case .damaged: return ("is damaged (wrong checksum or content)", restore)
    case .notOurs: return ("is not a Talkaround record of this kind", restore)
    case .newerVersion(_, let version):
      return ("was written by a later Talkaround (format \(version))", "use that version")
    case .tooLarge: return ("is larger than any record of ours", restore)
    case .diskFull: return ("the disk is full", "free some space; the old file is whole")
    case .readOnly:
      return ("the file system is read-only", "mount it writable, or use another --state DIR")
    case .failed(_, let call, let errno):
      return ("\(call) failed: \(ErrorText.of(errno))", "the old file is whole; check the disk")
    }
  }
}
