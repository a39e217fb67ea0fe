import TalkCore

/// What a file of ours holds; the numbers are on disk, so none is ever used again for another.
enum RecordKind: UInt8, CaseIterable {
  case identity = 1
  case channel = 2
  case peers = 3
  case boot = 4
  case names = 5
}

/// How a record lies in its file, little-endian: magic "TkRc" 4, kind 1, version 1, zero 2, length
/// of the body 4, body, BLAKE2b-256 of all before it 32.
enum RecordFormat {
  static let magic = Array("TkRc".utf8)
  static let version: UInt8 = 1
  static let headerSize = 12
  static let checksumSize = 32
  /// The most bytes of a file: a roster of 4,096 ADMITs of at most 512 bytes, and room beside it.
  static let fileLimit = 4 << 20

  /// The file's bytes for `body`; wiped by the caller after use.
  static func seal(kind: RecordKind, body: [UInt8]) -> [UInt8] {
    var file = RecordWriter(capacity: headerSize + body.count + checksumSize)
    file.raw(magic)
    file.u8(kind.rawValue)
    file.u8(version)
    file.number(0, width: 2)
    file.number(UInt64(body.count), width: 4)
    file.raw(body)
    file.raw(Checksum.of(file.bytes, size: checksumSize))
    return file.bytes
  }

  /// Where the body lies in `file`; throws what is wrong with it, naming `path`.
  static func open(
    _ file: [UInt8], kind: RecordKind, path: String
  ) throws(StoreError) -> Range<Int> {
    guard !file.isEmpty else { throw .empty(path) }
    guard file.count <= fileLimit else { throw .tooLarge(path) }
    guard file.contains(where: { $0 != 0 }) else { throw .zeroed(path) }
    let head = file.prefix(magic.count)
    guard magic.starts(with: head) else { throw .notOurs(path) }
    var reader = unsafe ByteReader(file.span.bytes)
    _ = reader.range(magic.count)
    guard let found = reader.u8(), let version = reader.u8(), let zero = reader.u16(),
      let length = reader.u32()
    else { throw .truncated(path) }
    guard found == kind.rawValue else { throw .notOurs(path) }
    guard version <= Self.version else { throw .newerVersion(path, version: version) }
    let end = headerSize + Int(length)
    guard file.count >= end + checksumSize else { throw .truncated(path) }
    guard file.count == end + checksumSize, zero == 0, version == Self.version,
      Checksum.of(Array(file[..<end]), size: checksumSize) == Array(file[end...])
    else { throw .damaged(path) }
    return headerSize..<end
  }
}

/// Appends little-endian numbers, bytes and texts to a growing record.
struct RecordWriter {
  private(set) var bytes: [UInt8] = []

  /// Reserves `capacity`, so that growing leaves no stray copies of secrets behind.
  init(capacity: Int) { bytes.reserveCapacity(capacity) }

  mutating func u8(_ value: UInt8) { bytes.append(value) }

  /// The low `width` bytes of `value`.
  mutating func number(_ value: UInt64, width: Int) {
    for index in 0..<width { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }

  mutating func raw(_ more: [UInt8]) { bytes.append(contentsOf: more) }

  mutating func secret(_ secret: SecretBytes) {
    var copy = secret.copy()
    bytes.append(contentsOf: copy)
    SecretBytes.wipe(&copy)
  }

  mutating func bytes16(_ value: Bytes16) { raw(value.bytes) }

  /// Length 2, then the UTF-8.
  mutating func text(_ text: String) {
    let utf8 = Array(text.utf8.prefix(Int(UInt16.max)))
    number(UInt64(utf8.count), width: 2)
    raw(utf8)
  }

  mutating func wipe() { SecretBytes.wipe(&bytes) }
}

extension ByteReader {
  /// A text as `RecordWriter.text` writes it, of at most `limit` bytes of valid UTF-8.
  mutating func text(limit: Int) -> String? {
    guard let count = u16(), count <= limit, let utf8 = bytes(Int(count)) else { return nil }
    return String(validating: utf8, as: UTF8.self)
  }

  /// The next `count` bytes as a secret; the copy between is wiped.
  mutating func secret(_ count: Int) -> SecretBytes? {
    guard var copy = bytes(count) else { return nil }
    defer { SecretBytes.wipe(&copy) }
    return SecretBytes(copy)
  }

  /// True once all was read, nothing was missing.
  var isComplete: Bool { !failed && remaining == 0 }
}
