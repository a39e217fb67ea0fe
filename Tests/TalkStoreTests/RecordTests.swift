import Foundation
import TalkCore
import Testing

@testable import TalkStore

@Suite struct RecordTests {
  @Test func `a nickname of 300 bytes of emoji is cut at a whole character`() throws {
    let family = "👩‍👩‍👧"
    let nickname = String(repeating: family, count: 300 / family.utf8.count + 1)
    let identity = Sample.identity(nickname: nickname)
    #expect(identity.nickname == family)
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.identity(identity))
    #expect(try directory.loadIdentity()?.nickname == family)
  }

  @Test func `secrets show in no description, dump or error`() throws {
    var shown = "\(Sample.identity()) \(Sample.channel())"
    shown += String(reflecting: Sample.identity()) + String(reflecting: Sample.channel())
    dump(Sample.identity(), to: &shown)
    dump(Sample.channel(), to: &shown)
    // Bytes from 60, 100 and 200 on, as Swift would print them.
    for run in ["64, 65, 66", "104, 105, 106", "204, 205, 206"] {
      #expect(!shown.contains(run), "\(run)")
    }
    #expect(!shown.contains("- 204"))
    #expect(shown.contains("secret of 32 bytes"))
  }

  @Test func `a roster at its limit is kept, and what goes beyond is not`() throws {
    for (admits, kept) in [(4_096, 4_096), (4_097, 4_096)] {
      var channel = Sample.channel(admits: admits)
      channel.roster = channel.roster.map { _ in [UInt8](repeating: 1, count: 512) }
      let body = channel.encode()
      #expect(body.count < RecordFormat.fileLimit - 64)
      #expect(StoredChannel.decode(body.span.bytes)?.roster.count == kept)
    }
    var channel = Sample.channel(admits: 1)
    channel.roster.append([UInt8](repeating: 1, count: 513))
    #expect(StoredChannel.decode(channel.encode().span.bytes)?.roster.count == 1)
  }

  @Test func `a channel of our own has no inviter, and old epochs beyond eight are let go`() {
    var channel = Sample.channel()
    channel.inviter = nil
    channel.joining = false
    channel.isCurrent = false
    channel.epochs = (0..<12).map {
      .init(number: $0, secret: SecretBytes([UInt8](repeating: UInt8($0), count: 32)))
    }
    let decoded = StoredChannel.decode(channel.encode().span.bytes)
    #expect(decoded?.inviter == nil)
    #expect(decoded?.joining == false)
    #expect(decoded?.isCurrent == false)
    #expect(decoded?.epochs.map(\.number) == Array(3..<12))
  }

  @Test func `peers are forgotten after seven days, the oldest first beyond the limit`() throws {
    func entry(_ number: Int, seen: UInt64) -> StoredPeers.Entry {
      StoredPeers.Entry(
        channel: Sample.channelID, peer: PeerID(Bytes16(high: 1, low: UInt64(number))),
        endpoint: Endpoint(ipv4: 0x7f00_0001, port: 41_717), lastSeen: seen)
    }
    let now: UInt64 = 1_800_000_000
    let week = StoredPeers.lifetime
    let kept = StoredPeers(
      [entry(1, seen: now - week), entry(2, seen: now - week - 1), entry(3, seen: now + 99)],
      now: now)
    #expect(kept.entries.map(\.peer.value.low) == [3, 1])
    let many = StoredPeers((0...StoredPeers.limit).map { entry($0, seen: UInt64($0)) }, now: 0)
    #expect(many.entries.count == StoredPeers.limit)
    #expect(many.entries.last?.lastSeen == 1)
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    #expect(directory.loadPeers(now: now).entries.isEmpty)
    try directory.write(.peers(kept))
    #expect(directory.loadPeers(now: now) == kept)
    #expect(directory.loadPeers(now: now + 1).entries.map(\.peer.value.low) == [3])
  }

  @Test func `a clone of the disk on another machine is noticed`() {
    let here = MachineID.hash()
    let scratch = Scratch()
    put(Array("0123456789abcdef0123456789abcdef\n".utf8), at: "\(scratch.path)/id")
    let there = MachineID.hash(path: "\(scratch.path)/id")
    let none = MachineID.hash(path: "\(scratch.path)/absent")
    #expect(there.count == 16 && there != none && none.allSatisfy { $0 == 0 })
    #expect(here != there)
    struct Case { let made: [UInt8], now: [UInt8], elsewhere: Bool }
    let cases = [
      Case(made: there, now: there, elsewhere: false),
      Case(made: there, now: [UInt8](repeating: 3, count: 16), elsewhere: true),
      Case(made: none, now: there, elsewhere: false),
      Case(made: there, now: none, elsewhere: false),
    ]
    for test in cases {
      var identity = Sample.identity()
      identity.machine = test.made
      #expect(identity.isElsewhere(than: test.now) == test.elsewhere)
    }
  }
}
