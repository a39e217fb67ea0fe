/// Why the registry of phones can't be used, or refused something. Each case that names a path is
/// about that file; none carries content of it.
package enum RegistryError: Error, Equatable, Sendable {
  /// Something else than a plain file stands there, or a symbolic link does.
  case notAFile(String)
  /// Others than the owner may use it: its mode, as in chmod(1).
  case looseMode(String, mode: UInt32)
  /// It belongs to another user, whose number is given.
  case foreignOwner(String, user: UInt32)
  /// The system does not let us open it or make files beside it (SQLITE_CANTOPEN, SQLITE_PERM).
  case noPermission(String)
  /// It can be read but not written (SQLITE_READONLY).
  case readOnly(String)
  /// The file is gone although its write-ahead log is still there.
  case missing(String)
  /// The file has no bytes, as after a power cut.
  case empty(String)
  /// Its pages contradict one another, or a row can't be what we wrote (SQLITE_CORRUPT).
  case damaged(String)
  /// It is no database, or one of another program (SQLITE_NOTADB).
  case notOurs(String)
  /// A later version of Talkaround wrote it.
  case newerVersion(String, version: Int)
  /// The disk, or the user's share of it, is full; what was there before is whole (SQLITE_FULL).
  case diskFull(String)
  /// Another process held it for longer than `SQLiteConnection.busyLimit` (SQLITE_BUSY).
  case busy(String)
  /// SQLite refused for another reason: its extended result code and what it says of it.
  case failed(String, code: Int32, text: String)
  /// A push token of no bytes, or more than `PhoneToken.limit`: the phone's fault.
  case tokenLength(Int)
  /// A name without anything visible, or of more than `Phone.nameLimit` bytes: the caller's fault.
  case name
  /// No phone of that id: removed meanwhile, or never added.
  case unknownPhone
  /// The channel was never told to the registry.
  case unknownChannel
  /// A channel has a phone in every seat.
  case channelFull
  /// The phone or its ticket is there already: the caller's random numbers repeat.
  case phoneExists
}

extension RegistryError: CustomStringConvertible {
  /// One line: what it is about, what is wrong, and the cure.
  package var description: String {
    let restore = "restore it from a backup, or move it away and add the phones again"
    switch self {
    case .notAFile(let path): return "\(path): is not a plain file; move it away"
    case .looseMode(let path, let mode):
      return "\(path): others may use it (mode \(String(mode, radix: 8))); chmod go= '\(path)'"
    case .foreignOwner(let path, let user):
      return "\(path): belongs to user \(user); run as that user, or give it to yourself with chown"
    case .noPermission(let path):
      return "\(path): permission denied; check the owner and mode of it and of its folder"
    case .readOnly(let path): return "\(path): can't be written; check its mode and its file system"
    case .missing(let path): return "\(path): is gone, though its log is there; \(restore)"
    case .empty(let path): return "\(path): is empty; \(restore)"
    case .damaged(let path): return "\(path): is damaged; \(restore)"
    case .notOurs(let path): return "\(path): is not Talkaround's registry of phones; \(restore)"
    case .newerVersion(let path, let version):
      return "\(path): was written by a later Talkaround (format \(version)); use that version"
    case .diskFull(let path):
      return "\(path): the disk is full; free some space; what was there before is whole"
    case .busy(let path): return "\(path): another process holds it; stop that process"
    case .failed(let path, let code, let text):
      return "\(path): SQLite says \"\(text)\" (\(code)); check the disk"
    case .tokenLength(let count):
      return "a push token of \(count) bytes is none; the app must send the one that it was given"
    case .name:
      return "a phone's name must show something in at most 64 bytes; choose another"
    case .unknownPhone: return "no such phone; see talkaround gateway phone list"
    case .unknownChannel: return "the gateway does not know the channel; join it first"
    case .channelFull: return "the channel has no seat left; remove a phone that is gone"
    case .phoneExists: return "the phone is there already; try again"
    }
  }
}
