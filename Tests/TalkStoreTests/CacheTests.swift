import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkStore

/// Files that the node can do without, and the way back from those that it cannot.
@Suite struct CacheTests {
  private static let names = StoredNames([
    .init(channel: Sample.channelID, peer: PeerID(Bytes16(high: 1, low: 2)), name: "ben"),
    .init(channel: Sample.channelID, peer: PeerID(Bytes16(high: 1, low: 3)), name: "Zoë"),
  ])

  @Test func `names of members come back, cut to their limits`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    #expect(directory.loadNames().entries.isEmpty)
    try directory.write(.names(Self.names))
    #expect(directory.loadNames() == Self.names)
    let long = String(repeating: "é", count: 40)
    let entry = StoredNames.Entry(channel: Sample.channelID, peer: PeerID(.zero), name: long)
    try directory.write(
      .names(StoredNames(Array(repeating: entry, count: StoredNames.limit + 1))))
    let kept = directory.loadNames().entries
    #expect(kept.count == StoredNames.limit)
    #expect(kept.first?.name == String(repeating: "é", count: 16))
    #expect(directory.takeNotices().isEmpty)
  }

  // F1
  @Test(arguments: BadFile.all)
  func `a bad cache is moved away, said once, and begun anew`(_ bad: BadFile) throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    let path = "\(scratch.state)/peers"
    func spoilt() throws -> [UInt8] {
      try? directory.write(.peers(StoredPeers([], now: 0)))
      bad.spoil(path)
      return bad.testDescription == "a pipe" ? [] : fileBytes(path)
    }
    for round in 1...3 {
      let before = try spoilt()
      #expect(directory.loadPeers(now: 0).entries.isEmpty)
      let aside = "peers.damaged" + (round == 1 ? "" : "-\(round)")
      let notices = directory.takeNotices()
      #expect(notices.count == 1)
      #expect(notices.first?.hasPrefix("\(path): ") == true)
      #expect(notices.first?.hasSuffix("moved to \(aside), and begun anew") == true)
      if bad.testDescription != "a pipe" {
        #expect(fileBytes("\(scratch.state)/\(aside)") == before)
      }
      try directory.write(.peers(StoredPeers([], now: 0)))
    }
    #expect(directory.loadPeers(now: 0).entries.isEmpty)
    #expect(directory.takeNotices().isEmpty)
  }

  @Test func `the tenth bad cache stays where it is, and nothing is overwritten`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    let path = "\(scratch.state)/names"
    for round in 1...10 {
      put([UInt8(round)], at: path)
      #expect(directory.loadNames().entries.isEmpty)
    }
    #expect(
      directory.takeNotices().last
        == "\(path): is not a Talkaround record of this kind; the node goes on without it")
    #expect(fileBytes(path) == [10])
    #expect(fileBytes("\(path).damaged") == [1])
    #expect(fileBytes("\(path).damaged-9") == [9])
    let save = thrown { () throws(StoreError) in try directory.write(.names(Self.names)) }
    #expect(save == .notOurs(path))
  }

  @Test func `a start count that is gone goes on above every earlier one, and is said`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    _ = try directory.countBoot()
    try directory.write(.identity(Sample.identity()))
    #expect(try directory.countBoot() == 2)
    unlink("\(scratch.state)/boot")
    let resumed = try directory.countBoot()
    #expect(resumed > 1_700_000_000)
    #expect(
      directory.takeNotices() == [
        "\(scratch.state)/boot was gone: starts are counted on from \(resumed)"
      ])
    #expect(try directory.countBoot() == resumed + 1)
    #expect(directory.takeNotices().isEmpty)
  }

  @Test func `a clock that went back does not lower the start count`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.identity(Sample.identity()))
    let later = time_t(4_000_000_000)
    var times = [timespec(tv_sec: later, tv_nsec: 0), timespec(tv_sec: later, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(scratch.state)/channels", &times, 0) == 0)
    #expect(try directory.countBoot() == UInt64(later) + 1)
  }

  /// A file that is needed, and the cure that its error names, carried out.
  struct Cure: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let words: String
    let carryOut: @Sendable (String) -> Void
    static let channel = "channels/\(Sample.channelID)"
    static let all = [
      Cure(
        testDescription: "boot", words: "move it away; starts are then counted on from the clock",
        carryOut: { rename("\($0)/boot", "\($0)/boot.old") }),
      Cure(
        testDescription: channel, words: "or move it out of this folder and join again",
        carryOut: { rename("\($0)/\(channel)", "\($0)/crew.old") }),
    ]
  }

  @Test(arguments: Cure.all)
  func `the cure that is named leads back to a start`(_ cure: Cure) throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    _ = try directory.countBoot()
    try directory.write(.identity(Sample.identity()))
    try directory.write(.channel(Sample.channel()))
    let path = "\(scratch.state)/\(cure.testDescription)"
    put([0, 0, 0], at: path)
    func start() -> StoreError? {
      thrown { () throws(StoreError) in
        _ = try directory.countBoot()
        _ = try directory.loadIdentity()
        return try directory.loadChannels()
      }
    }
    let error = try #require(start())
    #expect(error == .zeroed(path))
    #expect(error.description.hasSuffix(cure.words))
    #expect(fileBytes(path) == [0, 0, 0])
    cure.carryOut(scratch.state)
    #expect(start() == nil)
  }

  @Test func `an identity that is lost leaves a backup or a new beginning elsewhere`() throws {
    let error = StoreError.zeroed("/s/identity")
    #expect(error.description.contains("restore it from a backup, or begin anew with another"))
    let scratch = Scratch()
    let other = try StateDirectory(path: "\(scratch.path)/other")
    #expect(try other.countBoot() == 1)
    #expect(try other.loadIdentity() == nil)
  }
}
