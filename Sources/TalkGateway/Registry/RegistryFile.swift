import Glibc

/// The registry's file: made whole or not at all, and looked at before SQLite opens it, since
/// SQLite takes an empty file for a new database.
enum RegistryFile {
  /// Marks the file as ours (PRAGMA application_id): "TALK".
  static let applicationID: Int64 = 0x5441_4c4b
  /// The version of `schema` (PRAGMA user_version).
  static let version: Int64 = 1

  /// The tables. A token's key begins with its channel, so that the tokens of a channel lie
  /// together; a WITHOUT ROWID table is its own index.
  static let schema = """
    CREATE TABLE channel(
      id BLOB PRIMARY KEY NOT NULL, uuid BLOB NOT NULL, name TEXT NOT NULL,
      shows_names INTEGER NOT NULL, level INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE phone(
      device BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL,
      channel BLOB NOT NULL REFERENCES channel(id), seat INTEGER NOT NULL,
      ticket BLOB NOT NULL UNIQUE, next_ticket BLOB UNIQUE, key BLOB, allowed INTEGER NOT NULL,
      added INTEGER NOT NULL, seen INTEGER, UNIQUE(channel, seat)) STRICT, WITHOUT ROWID;
    CREATE TABLE token(
      channel BLOB NOT NULL, device BLOB NOT NULL, kind INTEGER NOT NULL,
      environment INTEGER NOT NULL, bytes BLOB NOT NULL, registered INTEGER NOT NULL,
      quarantined INTEGER, PRIMARY KEY(channel, device, kind, environment)) STRICT, WITHOUT ROWID;
    CREATE TABLE claim(
      device BLOB NOT NULL, burst BLOB NOT NULL, kind INTEGER NOT NULL, gateway BLOB NOT NULL,
      at INTEGER NOT NULL, sent INTEGER NOT NULL,
      PRIMARY KEY(device, burst, kind)) STRICT, WITHOUT ROWID;
    CREATE TABLE provider_token(
      key TEXT PRIMARY KEY NOT NULL, issued INTEGER NOT NULL, text TEXT NOT NULL)
      STRICT, WITHOUT ROWID;
    """

  /// Makes the file where there is none: under another name, then renamed, so that a crash leaves
  /// no half of it.
  static func create(_ path: String) throws(RegistryError) {
    guard unsafe access("\(path)-wal", F_OK) != 0 else { throw .missing(path) }
    let draft = "\(path).new"
    for leftover in [draft, "\(draft)-journal"] { unsafe unlink(leftover) }
    let file = unsafe open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw of(errno, path) }
    fchmod(file, 0o600)
    close(file)
    try fill(draft, as: path)
    guard unsafe rename(draft, path) == 0 else { throw of(errno, path) }
    let slash = path.lastIndex(of: "/")
    let folder = unsafe open(
      slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".",
      O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw of(errno, path) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw of(errno, path) }
  }

  private static func fill(_ draft: String, as path: String) throws(RegistryError) {
    let connection = try SQLiteConnection(path: draft, named: path)
    try connection.transaction(durable: true) { () throws(RegistryError) in
      try connection.execute(schema)
      try connection.execute(
        "PRAGMA application_id=\(applicationID); PRAGMA user_version=\(version)")
    }
  }

  /// Refuses what is not a plain file of ours that only we can use. False when there is none.
  static func check(_ path: String) throws(RegistryError) -> Bool {
    var info = stat()
    guard unsafe lstat(path, &info) == 0 else {
      if errno == ENOENT { return false }
      throw of(errno, path)
    }
    guard info.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
    guard info.st_uid == geteuid() else { throw .foreignOwner(path, user: info.st_uid) }
    guard info.st_mode & 0o077 == 0 else { throw .looseMode(path, mode: info.st_mode & 0o777) }
    guard info.st_size > 0 else { throw .empty(path) }
    return true
  }

  /// Refuses a database that is not ours, later than us, or damaged.
  static func check(_ connection: SQLiteConnection) throws(RegistryError) {
    func number(_ pragma: String) throws(RegistryError) -> Int64 {
      try connection.rows(pragma) { $0.first?.integer }.first ?? 0
    }
    guard try number("PRAGMA application_id") == applicationID else {
      throw .notOurs(connection.path)
    }
    let found = try number("PRAGMA user_version")
    guard found <= version else { throw .newerVersion(connection.path, version: Int(found)) }
    guard found == version else { throw .damaged(connection.path) }
    let answer = try connection.rows("PRAGMA quick_check(1)") { $0.first?.text }
    guard answer == ["ok"] else { throw .damaged(connection.path) }
  }

  private static func of(_ number: Int32, _ path: String) -> RegistryError {
    switch number {
    case EACCES, EPERM, ENOENT: return .noPermission(path)
    case EROFS: return .readOnly(path)
    case ELOOP, ENOTDIR: return .notAFile(path)
    case ENOSPC, EDQUOT, EFBIG: return .diskFull(path)
    default:
      var buffer = [CChar](repeating: 0, count: 128)
      _ = unsafe strerror_r(number, &buffer, buffer.count)
      let bytes = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      return .failed(path, code: number, text: String(decoding: bytes, as: UTF8.self))
    }
  }
}
