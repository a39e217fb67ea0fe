import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkStore

/// One way in which the identity's file can be bad.
struct BadFile: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Spoils the file at the path; it is whole before.
  let spoil: @Sendable (String) -> Void
  let error: @Sendable (String) -> StoreError

  static func edit(_ path: String, _ change: (inout [UInt8]) -> Void) {
    var bytes = fileBytes(path)
    change(&bytes)
    put(bytes, at: path)
  }

  static let all = [
    BadFile(testDescription: "empty", spoil: { put([], at: $0) }, error: { .empty($0) }),
    BadFile(
      testDescription: "zeroed",
      spoil: { path in edit(path) { $0 = [UInt8](repeating: 0, count: $0.count) } },
      error: { .zeroed($0) }),
    BadFile(
      testDescription: "cut in the header", spoil: { path in edit(path) { $0 = Array($0[..<7]) } },
      error: { .truncated($0) }),
    BadFile(
      testDescription: "cut in the checksum", spoil: { path in edit(path) { $0.removeLast() } },
      error: { .truncated($0) }),
    BadFile(
      testDescription: "zeros from the middle on",
      spoil: { path in edit(path) { for index in 40..<$0.count { $0[index] = 0 } } },
      error: { .damaged($0) }),
    BadFile(
      testDescription: "one more byte", spoil: { path in edit(path) { $0.append(0) } },
      error: { .damaged($0) }),
    BadFile(
      testDescription: "a text", spoil: { put(Array("nickname = \"anna\"\n".utf8), at: $0) },
      error: { .notOurs($0) }),
    BadFile(
      testDescription: "another kind of record", spoil: { path in edit(path) { $0[4] = 2 } },
      error: { .notOurs($0) }),
    BadFile(
      testDescription: "a later version", spoil: { path in edit(path) { $0[5] = 2 } },
      error: { .newerVersion($0, version: 2) }),
    BadFile(
      testDescription: "one byte above the limit",
      spoil: { put([UInt8](repeating: 1, count: RecordFormat.fileLimit + 1), at: $0) },
      error: { .tooLarge($0) }),
    BadFile(
      testDescription: "a folder",
      spoil: {
        unlink($0); mkdir($0, 0o700)
      },
      error: { .notAFile($0) }),
    BadFile(
      testDescription: "a symbolic link to a good one",
      spoil: {
        rename($0, "\($0)-moved"); symlink("\($0)-moved", $0)
      },
      error: { .symbolicLink($0) }),
    BadFile(
      testDescription: "a pipe",
      spoil: {
        unlink($0); mkfifo($0, 0o600)
      },
      error: { .notAFile($0) }),
    BadFile(
      testDescription: "readable by the group", spoil: { chmod($0, 0o640) },
      error: { .looseMode($0, mode: 0o640) }),
    BadFile(
      testDescription: "right checksum, wrong content",
      spoil: { put(RecordFormat.seal(kind: .identity, body: [1, 2, 3]), at: $0) },
      error: { .damaged($0) }),
  ]
}

@Suite struct BadFileTests {
  @Test(arguments: BadFile.all)
  func `a bad file is named, refused, and left as it was`(_ bad: BadFile) throws {
    let scratch = Scratch()
    do {
      let directory = try StateDirectory(path: scratch.state)
      _ = try directory.countBoot()
      try directory.write(.identity(Sample.identity()))
    }
    bad.spoil(scratch.identity)
    let before = bad.testDescription == "a pipe" ? [] : fileBytes(scratch.identity)
    let directory = try StateDirectory(path: scratch.state)
    let expected = bad.error(scratch.identity)
    #expect(thrown { () throws(StoreError) in try directory.loadIdentity() } == expected)
    #expect(thrown { () throws(StoreError) in try directory.countBoot() } == expected)
    let save = thrown { () throws(StoreError) in
      try directory.write(.identity(Sample.identity(nickname: "new")))
    }
    #expect(save == expected)
    #expect(expected.description.hasPrefix("\(scratch.identity): "))
    if bad.testDescription != "a pipe" { #expect(fileBytes(scratch.identity) == before) }
  }

  @Test(.enabled(if: geteuid() == 0, "giving a file away needs root"))
  func `a file of another user is refused`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.identity(Sample.identity()))
    chown(scratch.identity, 65_534, 65_534)
    #expect(
      thrown { () throws(StoreError) in try directory.loadIdentity() }
        == .foreignOwner(scratch.identity, user: 65_534))
  }

  @Test func `no cut and no flipped bit of a record is taken for whole`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.channel(Sample.channel()))
    let path = "\(scratch.state)/channels/\(Sample.channelID)"
    let whole = fileBytes(path)
    for count in 0..<whole.count {
      put(Array(whole[..<count]), at: path)
      #expect(thrown { () throws(StoreError) in try directory.loadChannels() } != nil)
    }
    for index in whole.indices {
      var bent = whole
      bent[index] ^= 1 << (index % 8)
      put(bent, at: path)
      #expect(thrown { () throws(StoreError) in try directory.loadChannels() } != nil)
    }
    put(whole, at: path)
    #expect(try directory.loadChannels() == [Sample.channel()])
  }

  @Test func `random bodies under a right checksum never crash`() throws {
    var generator = SeededGenerator(seed: 7)
    for round in 0..<4_000 {
      let count = Int(generator.next() % 200)
      let body = (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 3) }
      let kind = RecordKind.allCases[round % RecordKind.allCases.count]
      let file = RecordFormat.seal(kind: kind, body: body)
      let range = try RecordFormat.open(file, kind: kind, path: "x")
      let span = file.span.bytes.extracting(range)
      switch kind {
      case .identity: _ = StoredIdentity.decode(span)
      case .channel: _ = StoredChannel.decode(span)
      case .peers: _ = StoredPeers.decode(span)
      case .boot: _ = StoredBoot.decode(span)
      case .names: _ = StoredNames.decode(span)
      }
    }
  }

  @Test func `a stray name among the channels is refused by name`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    put([1], at: "\(scratch.state)/channels/copy of crew")
    #expect(
      thrown { () throws(StoreError) in try directory.loadChannels() }
        == .notOurs("\(scratch.state)/channels/copy of crew"))
  }

  @Test func `a channel under another channel's name is refused`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.channel(Sample.channel()))
    let other = "\(scratch.state)/channels/00112233-4455-8677-8899-aabbccddeef0"
    rename("\(scratch.state)/channels/\(Sample.channelID)", other)
    #expect(thrown { () throws(StoreError) in try directory.loadChannels() } == .damaged(other))
  }
}
