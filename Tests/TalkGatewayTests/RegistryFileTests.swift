import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkGateway

@Suite struct RegistryFileTests {
  private let folder = RegistryFolder()

  private func opening() -> RegistryError? {
    registryError { () throws(RegistryError) in try folder.open() }
  }

  @Test func theFileIsForItsOwnerAlone() throws {
    let registry = try folder.openWithChannel()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      var info = stat()
      #expect(lstat("\(folder.path)/\(name)", &info) == 0)
      #expect(info.st_mode & 0o777 == 0o600, "\(name)")
    }
    _ = registry
  }

  @Test func aFileThatCannotBeOursIsRefusedAndLeftAsItWas() throws {
    struct Case {
      var bytes: [UInt8]
      var error: (String) -> RegistryError
    }
    _ = try folder.openWithChannel()
    let whole = folder.bytes(of: folder.file)
    var otherProgram = whole
    otherProgram[68] ^= 1
    var later = whole
    later[63] = 2
    var earlier = whole
    earlier[63] = 0
    var torn = whole
    for index in 4_096..<torn.count { torn[index] = 0x5a }
    let cases = [
      Case(bytes: []) { .empty($0) },
      Case(bytes: [UInt8](repeating: 0, count: 8_192)) { .notOurs($0) },
      Case(bytes: Array("a letter to my aunt, who has no database".utf8)) { .notOurs($0) },
      Case(bytes: otherProgram) { .notOurs($0) },
      Case(bytes: later) { .newerVersion($0, version: 2) },
      Case(bytes: earlier) { .damaged($0) },
      Case(bytes: torn) { .damaged($0) },
      Case(bytes: Array(whole[..<5_000])) { .damaged($0) },
    ]
    for (number, test) in cases.enumerated() {
      for suffix in ["", "-wal", "-shm"] { unlink(folder.file + suffix) }
      folder.write(test.bytes, to: folder.file)
      #expect(opening() == test.error(folder.file), "case \(number)")
      #expect(folder.bytes(of: folder.file) == test.bytes, "case \(number)")
    }
  }

  @Test func aMissingFileBesideItsLogIsNotMadeAnew() throws {
    folder.write([1], to: folder.file + "-wal")
    #expect(opening() == .missing(folder.file))
  }

  @Test func whatIsNotAPlainFileOfOursIsRefused() throws {
    mkdir(folder.file, 0o700)
    #expect(opening() == .notAFile(folder.file))
    rmdir(folder.file)
    symlink("/etc/passwd", folder.file)
    #expect(opening() == .notAFile(folder.file))
    unlink(folder.file)
    folder.write([1], to: folder.file, mode: 0o644)
    #expect(opening() == .looseMode(folder.file, mode: 0o644))
    let elsewhere = "\(folder.path)/none/phones.db"
    #expect(
      registryError { () throws(RegistryError) in try SQLiteRegistry(path: elsewhere) }
        == .noPermission(elsewhere))
  }

  @Test func aFolderWithoutPermissionSaysSo() {
    chmod(folder.path, 0o500)
    withoutPrivilege { #expect(opening() == .noPermission(folder.file)) }
    chmod(folder.path, 0o700)
  }

  @Test func aFileThatMayOnlyBeReadIsRefused() throws {
    _ = try folder.openWithChannel()
    // For others the registry's mode would be refused already; so this asks the connection itself.
    chmod(folder.file, 0o444)
    chmod(folder.path, 0o777)
    withoutPrivilege {
      let error = registryError { () throws(RegistryError) in
        try SQLiteConnection(path: folder.file)
      }
      #expect(error == .readOnly(folder.file))
    }
  }

  @Test func aFullDiskIsSaidAndWhatWasThereStays() throws {
    let registry = try folder.openWithChannel()
    let pages = try registry.limitPages(to: 1)
    try registry.limitPages(to: pages + 2)
    var added = 0
    var error: RegistryError?
    while error == nil, added < 1_000 {
      added += 1
      error = registryError { () throws(RegistryError) in
        try registry.add(
          Sample.device(added), name: "phone", channel: Sample.channel,
          ticket: Sample.ticket(added), at: 0)
      }
    }
    #expect(error == .diskFull(folder.file))
    #expect(try registry.phones(in: nil).count == added - 1)
    try registry.limitPages(to: pages + 100)
    #expect(
      try registry.add(
        Sample.device(added), name: "phone", channel: Sample.channel,
        ticket: Sample.ticket(added), at: 0
      ).seat == UInt16(added))
  }

  @Test func aCrashBetweenTwoWritesLosesNothingThatWasAnswered() throws {
    // What another process sees after a kill is the file with its log, as it lies there.
    let registry = try folder.openWithChannel()
    for number in 1...50 {
      _ = try registry.add(
        Sample.device(number), name: "phone", channel: Sample.channel,
        ticket: Sample.ticket(number), at: 0)
    }
    let crashed = RegistryFolder()
    for suffix in ["", "-wal"] {
      crashed.write(folder.bytes(of: folder.file + suffix), to: crashed.file + suffix)
    }
    #expect(try crashed.open().phones(in: nil).count == 50)
  }

  @Test func aTornEndOfTheLogLosesWholeTransactionsOnly() throws {
    let registry = try folder.openWithChannel()
    for number in 1...20 {
      _ = try registry.add(
        Sample.device(number), name: "phone", channel: Sample.channel,
        ticket: Sample.ticket(number), at: 0)
    }
    let file = folder.bytes(of: folder.file)
    let log = folder.bytes(of: folder.file + "-wal")
    var counts: [Int] = []
    for end in stride(from: 0, through: log.count, by: max(1, log.count / 97)) {
      let torn = RegistryFolder()
      torn.write(file, to: torn.file)
      torn.write(Array(log[..<end]), to: torn.file + "-wal")
      let phones = try torn.open().phones(in: nil)
      #expect(phones.map(\.seat) == (0..<phones.count).map { UInt16($0 + 1) })
      counts.append(phones.count)
    }
    #expect(counts == counts.sorted() && counts.first == 0)
  }

  @Test func aDraftThatACrashLeftIsNoObstacle() throws {
    folder.write([1, 2, 3], to: folder.file + ".new")
    #expect(opening() == nil)
    #expect(access(folder.file + ".new", F_OK) != 0)
  }
}
