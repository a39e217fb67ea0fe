import CSQLite

/// A value of a statement or a row.
enum SQLValue: Equatable {
  case null
  case integer(Int64)
  case text(String)
  case bytes([UInt8])

  var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  var text: String? { if case .text(let value) = self { value } else { nil } }
  var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
}

/// A prepared statement, finalized when let go: before the connection is closed.
@safe private final class Statement {
  let handle: OpaquePointer

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { unsafe sqlite3_finalize(handle) }
}

/// One connection to a database, with its prepared statements. For one thread at a time.
@safe final class SQLiteConnection {
  /// How long a lock of another process is waited for, in milliseconds.
  static let busyLimit: Int32 = 2_000
  /// The most statements that are kept prepared; the registry has fewer.
  static let statementLimit = 64

  let path: String
  private let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  /// True while commits wait for the disk.
  private var isDurable = true

  /// Opens a file that is there (sqlite3_open_v2); errors name it `name`.
  init(path file: String, named name: String? = nil) throws(RegistryError) {
    path = name ?? file
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
    let code = unsafe sqlite3_open_v2(file, &opened, flags, nil)
    guard code == SQLITE_OK, let opened = unsafe opened else {
      // SQLite hands out a handle even when it could not open the file.
      let error = unsafe Self.error(code, path: path, handle: opened)
      unsafe sqlite3_close_v2(opened)
      throw error
    }
    unsafe handle = opened
    unsafe sqlite3_extended_result_codes(handle, 1)
    unsafe sqlite3_busy_timeout(handle, Self.busyLimit)
    // A file that somebody tampered with is read with suspicion.
    try execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL")
    guard unsafe sqlite3_db_readonly(handle, "main") == 0 else { throw .readOnly(path) }
  }

  deinit {
    statements = [:]
    unsafe sqlite3_close_v2(handle)
  }

  /// Runs statements without values (sqlite3_exec).
  func execute(_ sql: String) throws(RegistryError) {
    try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// Runs one statement and returns how many rows it changed.
  @discardableResult
  func run(_ sql: String, _ values: [SQLValue] = []) throws(RegistryError) -> Int {
    _ = try rows(sql, values) { _ in true }
    return Int(unsafe sqlite3_changes(handle))
  }

  /// Runs one statement and reads its rows; `read` says nil of a row that can't be ours.
  func rows<Row>(
    _ sql: String, _ values: [SQLValue] = [], _ read: ([SQLValue]) -> Row?
  ) throws(RegistryError) -> [Row] {
    let statement = unsafe try prepared(sql)
    defer {
      unsafe sqlite3_reset(statement)
      unsafe sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() {
      try check(unsafe bind(value, at: Int32(index + 1), of: statement))
    }
    var result: [Row] = []
    while true {
      let code = unsafe sqlite3_step(statement)
      if code == SQLITE_DONE { return result }
      guard code == SQLITE_ROW else {
        throw unsafe Self.error(code, path: path, handle: handle)
      }
      guard let row = read(unsafe columns(of: statement)) else { throw .damaged(path) }
      result.append(row)
    }
  }

  /// Runs `body` in one transaction that waits for other writers, and undoes it when it throws.
  /// Without `durable` a power cut may undo it too, but never half of it (synchronous=NORMAL in
  /// write-ahead mode): nobody waits for the disk then.
  func transaction<Result>(
    durable: Bool, _ body: () throws(RegistryError) -> Result
  ) throws(RegistryError) -> Result {
    if durable != isDurable {
      try execute("PRAGMA synchronous=\(durable ? "FULL" : "NORMAL")")
      isDurable = durable
    }
    try execute("BEGIN IMMEDIATE")
    do throws(RegistryError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // After a full disk SQLite may have rolled back by itself: then this finds nothing to do.
      try? execute("ROLLBACK")
      throw error
    }
  }

  private func prepared(_ sql: String) throws(RegistryError) -> OpaquePointer {
    if let known = statements[sql] { return unsafe known.handle }
    var statement: OpaquePointer?
    try check(
      unsafe sqlite3_prepare_v3(
        handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement = unsafe statement else {
      throw .failed(path, code: SQLITE_MISUSE, text: "an empty statement")
    }
    precondition(statements.count < Self.statementLimit, "too many SQL statements")
    statements[sql] = unsafe Statement(statement)
    return unsafe statement
  }

  private func bind(_ value: SQLValue, at index: Int32, of statement: OpaquePointer) -> Int32 {
    switch value {
    case .null: unsafe sqlite3_bind_null(statement, index)
    case .integer(let number): unsafe sqlite3_bind_int64(statement, index, number)
    case .text(let text):
      unsafe sqlite3_bind_text(
        statement, index, text, Int32(text.utf8.count), talk_sqlite_transient())
    case .bytes(let bytes):
      unsafe sqlite3_bind_blob64(
        statement, index, bytes, UInt64(bytes.count), talk_sqlite_transient())
    }
  }

  private func columns(of statement: OpaquePointer) -> [SQLValue] {
    let count = unsafe sqlite3_column_count(statement)
    return (0..<count).map { column in
      switch unsafe sqlite3_column_type(statement, column) {
      case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, column))
      case SQLITE_TEXT:
        guard let text = unsafe sqlite3_column_text(statement, column) else { return .null }
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        return unsafe .text(
          String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
      case SQLITE_BLOB:
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        guard let bytes = unsafe sqlite3_column_blob(statement, column) else { return .bytes([]) }
        return unsafe .bytes([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
      default: return .null
      }
    }
  }

  private func check(_ code: Int32) throws(RegistryError) {
    guard code == SQLITE_OK else { throw unsafe Self.error(code, path: path, handle: handle) }
  }

  private static func error(
    _ code: Int32, path: String, handle: OpaquePointer?
  ) -> RegistryError {
    switch code & 0xff {
    case SQLITE_CORRUPT: return .damaged(path)
    case SQLITE_NOTADB: return .notOurs(path)
    case SQLITE_READONLY: return .readOnly(path)
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: return .noPermission(path)
    case SQLITE_FULL: return .diskFull(path)
    case SQLITE_BUSY, SQLITE_LOCKED: return .busy(path)
    default:
      let text = unsafe handle.flatMap { unsafe sqlite3_errmsg($0) }.map {
        unsafe String(cString: $0)
      }
      return .failed(path, code: code, text: text ?? "no memory")
    }
  }
}
