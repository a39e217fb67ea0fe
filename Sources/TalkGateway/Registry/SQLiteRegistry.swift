import TalkCore
import TalkCrypto

/// The registry in one SQLite file in write-ahead mode: for the gateways of one host.
///
/// Any thread may call it, one at a time gets through; other processes may have it open too. What
/// a phone would miss after a power cut waits for the disk; claims don't, since a lost one costs a
/// second push at most.
@safe package final class SQLiteRegistry: PhoneRegistry {
  private let lock = Lock()
  private nonisolated(unsafe) let connection: SQLiteConnection

  /// Opens the registry at `path`, and makes it if there is no file: its folder must be there.
  /// Reads every page once to find damage.
  package init(path: String) throws(RegistryError) {
    if try !RegistryFile.check(path) { try RegistryFile.create(path) }
    let opened = try SQLiteConnection(path: path)
    try RegistryFile.check(opened)
    let mode = try opened.rows("PRAGMA journal_mode=WAL") { $0.first?.text }
    guard mode == ["wal"] else {
      throw .failed(path, code: 0, text: "no write-ahead log on this file system")
    }
    try opened.execute("PRAGMA foreign_keys=ON")
    unsafe connection = opened
  }

  /// Lets tests make the disk full (PRAGMA max_page_count); returns how many pages there are.
  @discardableResult
  func limitPages(to count: Int) throws(RegistryError) -> Int {
    try read { connection throws(RegistryError) in
      try connection.execute("PRAGMA max_page_count=\(count)")
      return try connection.rows("PRAGMA page_count") { $0.first?.integer }.first.map(Int.init) ?? 0
    }
  }

  /// Runs a query with the connection to itself.
  func read<Result>(
    _ body: (SQLiteConnection) throws(RegistryError) -> Result
  ) throws(RegistryError) -> Result {
    let result = lock.withLock { () -> Swift.Result<Result, RegistryError> in
      do throws(RegistryError) {
        return .success(try body(unsafe connection))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Runs a transaction; without `durable` a power cut may undo it.
  @discardableResult
  func write<Result>(
    durable: Bool = true, _ body: (SQLiteConnection) throws(RegistryError) -> Result
  ) throws(RegistryError) -> Result {
    try read { connection throws(RegistryError) in
      try connection.transaction(durable: durable) { () throws(RegistryError) in
        try body(connection)
      }
    }
  }
}

// MARK: The provider token

extension SQLiteRegistry {
  private static let select = "SELECT issued, text FROM provider_token WHERE key=?"

  private static func providerToken(_ row: [SQLValue]) -> ProviderToken? {
    guard let issued = row[0].integer, issued >= 0, let text = row[1].text else { return nil }
    return ProviderToken(issuedAt: UInt64(issued), text: text)
  }

  /// The token that stands for a signing key; nil when there was never one.
  package func providerToken(for key: String) throws(RegistryError) -> ProviderToken? {
    try read { connection throws(RegistryError) in
      try connection.rows(Self.select, [.text(key)], Self.providerToken).first
    }
  }

  /// Puts a token in the place of the one that was issued at `replacing`; the one that then stands.
  package func offer(
    _ token: ProviderToken, for key: String, replacing: UInt64?
  ) throws(RegistryError) -> ProviderToken {
    try write { connection throws(RegistryError) in
      let standing = try connection.rows(Self.select, [.text(key)], Self.providerToken).first
      if let standing, standing.issuedAt != replacing { return standing }
      try connection.run(
        """
        INSERT INTO provider_token(key, issued, text) VALUES(?, ?, ?)
        ON CONFLICT(key) DO UPDATE SET issued=excluded.issued, text=excluded.text
        """, [.text(key), .time(token.issuedAt), .text(token.text)])
      return token
    }
  }
}

// MARK: How values are kept

extension SQLValue {
  static func bytes(_ value: Bytes16) -> SQLValue { .bytes(value.bytes) }
  static func bytes(_ value: Key32) -> SQLValue { .bytes(value.bytes) }
  /// A time; later than SQLite can hold counts as the latest.
  static func time(_ value: UInt64) -> SQLValue { .integer(Int64(clamping: value)) }

  var bytes16: Bytes16? { bytes.flatMap { $0.count == 16 ? Bytes16($0) : nil } }
  var key32: Key32? { bytes.flatMap { Key32($0) } }
  var time: UInt64? { integer.flatMap { UInt64(exactly: $0) } }
}

extension Push.Environment {
  /// The number in the registry; never another's.
  var number: Int64 { self == .sandbox ? 0 : 1 }

  init?(number: Int64) {
    switch number {
    case 0: self = .sandbox
    case 1: self = .production
    default: return nil
    }
  }
}

extension Push.Kind {
  /// The number in the registry; never another's.
  var number: Int64 {
    switch self {
    case .speak: 0
    case .leave: 1
    case .serviceUpdate: 2
    case .call: 3
    case .missedVoice: 4
    }
  }
}
