import TalkCore
import TalkCrypto
import TalkMesh
import TalkWire
import Testing

private let start = Instant(nanoseconds: 1_000_000_000_000)
private func keys(_ number: UInt8) -> ChannelKeys {
  ChannelKeys(secret: [UInt8](repeating: number, count: 32), memory: .ordinary)!
}
private let one = (channel: ChannelID(Bytes16(high: 1, low: 1)), keys: keys(1))
private let two = (channel: ChannelID(Bytes16(high: 2, low: 2)), keys: keys(2))
private func body(_ counter: UInt64, boot: UInt64 = 5) -> HelloBody {
  HelloBody(bootInstance: boot, counter: counter, port: 41_717)
}
private func pool(seed: UInt64) -> EntropyPool {
  var generator = SeededGenerator(seed: seed)
  var pool = EntropyPool()
  pool.refill { buffer in
    for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: generator.next()) }
  }
  return pool
}

@Suite("HELLO")
struct HelloTests {
  private func sealed(_ hello: HelloBody, _ keys: ChannelKeys) throws -> [UInt8] {
    var entropy = pool(seed: 1)
    return try #require(Hello.seal(hello, keys: keys, entropy: &entropy))
  }

  @Test("a member of the channel opens it, whatever other channels it has")
  func roundTrip() throws {
    let datagram = try sealed(body(7), two.keys)
    #expect(datagram.count == 256)
    let found = try Hello.open(datagram.span.bytes, channels: [one, two])
    #expect(found.channel == two.channel && found.body == body(7))
  }

  @Test("a stranger finds nothing in it: no byte but type and version repeats")
  func unlinkable() throws {
    var entropy = pool(seed: 2)
    let first = try #require(Hello.seal(body(1), keys: one.keys, entropy: &entropy))
    let second = try #require(Hello.seal(body(1), keys: one.keys, entropy: &entropy))
    #expect(Array(first[..<16]) == [5, 1] + [UInt8](repeating: 0, count: 14))
    let equal = zip(first[16...], second[16...]).filter { $0 == $1 }.count
    #expect(equal < 10)
    #expect(throws: HelloDrop.foreign) {
      _ = try Hello.open(first.span.bytes, channels: [two])
    }
    #expect(throws: HelloDrop.foreign) { _ = try Hello.open(first.span.bytes, channels: []) }
  }

  @Test("every single changed byte is noticed, with the reason that its place gives")
  func tampered() throws {
    let datagram = try sealed(body(7), one.keys)
    for index in datagram.indices {
      var other = datagram
      other[index] ^= 0x10
      let reason: HelloDrop = index < 16 ? .notHello : index < 48 ? .foreign : .forged
      #expect(throws: reason) { _ = try Hello.open(other.span.bytes, channels: [one]) }
    }
  }

  @Test("other lengths are not HELLOs", arguments: [0, 1, 16, 255, 257, 1_200])
  func lengths(count: Int) {
    let bytes = [UInt8](repeating: 5, count: count)
    #expect(throws: HelloDrop.notHello) {
      _ = try Hello.open(bytes.span.bytes, channels: [one])
    }
  }

  @Test("a member's broken body is told apart from a forgery")
  func malformed() throws {
    var hello = body(7)
    hello.port = 0
    let datagram = try sealed(hello, one.keys)
    #expect(throws: HelloDrop.malformed) {
      _ = try Hello.open(datagram.span.bytes, channels: [one])
    }
  }

  @Test("an empty entropy pool refuses")
  func noEntropy() {
    var empty = EntropyPool()
    let datagram = Hello.seal(body(1), keys: one.keys, entropy: &empty)
    #expect(datagram == nil && empty.refused == 1)
  }

  @Test("100,000 mutated datagrams trap nowhere and open nowhere")
  func mutated() throws {
    var generator = SeededGenerator(seed: 3)
    let datagram = try sealed(body(7), one.keys)
    for round in 0..<100_000 {
      var other = datagram
      // Half of them keep header, nonce and tag, and so get as far as the cipher.
      let from = round % 2 == 0 ? 48 : 0
      for _ in 0...Int.random(in: 0..<3, using: &generator) {
        other[Int.random(in: from..<256, using: &generator)] ^= UInt8.random(
          in: 1...255, using: &generator)
      }
      if round % 9 == 0 { other.removeLast(Int.random(in: 1..<256, using: &generator)) }
      guard other != datagram else { continue }
      let found = try? Hello.open(other.span.bytes, channels: [one, two])
      #expect(found == nil)
    }
  }

  @Test("an old counter of a boot is dropped, a new boot is new")
  func replay() {
    var window = HelloWindow()
    let cases: [(HelloBody, Bool)] = [
      (body(5), true), (body(5), false), (body(4), false), (body(6), true),
      (body(1, boot: 9), true),
      (body(6), false), (body(2, boot: 9), true),
    ]
    for (hello, isNew) in cases {
      let found = window.isNew(hello, now: start)
      #expect(found == isNew)
    }
  }

  @Test("256 boots are remembered; the next one drives out the one heard longest ago")
  func replayLimit() {
    var window = HelloWindow()
    for boot in 0..<256 {
      _ = window.isNew(body(5, boot: UInt64(boot)), now: start + .seconds(boot))
    }
    _ = window.isNew(body(6, boot: 0), now: start + .seconds(300))
    let stillKnown = window.isNew(body(5, boot: 1), now: start + .seconds(300))
    #expect(!stillKnown)
    _ = window.isNew(body(5, boot: 256), now: start + .seconds(300))
    let forgotten = window.isNew(body(5, boot: 1), now: start + .seconds(301))
    let kept = window.isNew(body(6, boot: 0), now: start + .seconds(301))
    #expect(forgotten && !kept)
  }
}

@Suite("The mDNS record")
struct ServiceRecordTests {
  private let channels = [one, two]

  @Test("members find their channels in it, strangers none")
  func matches() throws {
    var entropy = pool(seed: 4)
    let record = try #require(ServiceRecord(keys: [one.keys, keys(3)], entropy: &entropy))
    func find(_ instance: String) -> [ChannelID] {
      ServiceRecord.matches(txt: record.txt, instance: instance, channels: channels)
    }
    #expect(find(record.instance) == [one.channel])
    // The tags belong to their instance: a copied TXT under another name means nothing.
    #expect(find("0123456789abcdef") == [])
    #expect(
      ServiceRecord.matches(txt: record.txt, instance: record.instance, channels: [two]) == [])
  }

  @Test(
    "it is small, and looks alike for one channel and for sixteen", arguments: [0, 1, 15, 16, 17])
  func shape(count: Int) throws {
    var entropy = pool(seed: 5)
    let all = (0..<count).map { keys(UInt8($0)) }
    let record = try #require(ServiceRecord(keys: all, entropy: &entropy))
    #expect(record.instance.count == 16 && record.instance.allSatisfy(\.isHexDigit))
    #expect(record.txt.map(\.count) == [3, 130])
    #expect(record.txt[0] == Array("v=1".utf8) && record.txt[1].starts(with: Array("t=".utf8)))
    let known = (0..<count).map {
      (channel: ChannelID(Bytes16(high: 0, low: UInt64($0))), keys: all[$0])
    }
    let found = ServiceRecord.matches(
      txt: record.txt, instance: record.instance, channels: known)
    #expect(found == known.prefix(16).map(\.channel))
  }

  @Test("two records of one node have no byte of a tag in common place")
  func unlinkable() throws {
    var entropy = pool(seed: 6)
    let first = try #require(ServiceRecord(keys: [one.keys], entropy: &entropy))
    let second = try #require(ServiceRecord(keys: [one.keys], entropy: &entropy))
    #expect(first.instance != second.instance)
    let equal = zip(first.txt[1].dropFirst(2), second.txt[1].dropFirst(2)).filter { $0 == $1 }
    #expect(equal.count < 8)
  }

  @Test("malformed records match nothing")
  func malformed() throws {
    var entropy = pool(seed: 7)
    let record = try #require(ServiceRecord(keys: [one.keys], entropy: &entropy))
    let tags = record.txt[1]
    let wrong: [[[UInt8]]] = [
      [], [[]], [tags], [Array("v=1".utf8)], [Array("v=2".utf8), tags],
      [Array("v=1".utf8), tags.dropLast()], [Array("v=1".utf8), tags + [0]],
      [Array("v=1".utf8), Array("t=".utf8)], [Array("v=1".utf8), Array("T=".utf8) + tags[2...]],
    ]
    for txt in wrong {
      #expect(
        ServiceRecord.matches(txt: txt, instance: record.instance, channels: channels) == [])
    }
    let names = ["", "x", record.instance + "0", String(record.instance.dropLast()) + "ä"]
    for name in names {
      #expect(ServiceRecord.matches(txt: record.txt, instance: name, channels: channels) == [])
    }
  }

  @Test("100,000 mutated records trap nowhere and never name a channel that has no tag in them")
  func mutated() throws {
    var generator = SeededGenerator(seed: 8)
    var entropy = pool(seed: 9)
    let record = try #require(ServiceRecord(keys: [one.keys], entropy: &entropy))
    for _ in 0..<100_000 {
      var txt = record.txt
      let row = Int.random(in: 0..<2, using: &generator)
      let index = Int.random(in: 0..<txt[row].count, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: txt[row].remove(at: index)
      case 1: txt[row][index] = UInt8(truncatingIfNeeded: generator.next())
      case 2: txt[row].removeLast(index)
      default: txt.swapAt(0, row)
      }
      let found = ServiceRecord.matches(
        txt: txt, instance: record.instance, channels: channels)
      #expect(found == [] || found == [one.channel])
    }
  }

  @Test("a record is made anew at the start, at a change, and after 24 hours")
  func schedule() {
    var schedule = ServiceRecordSchedule(now: start)
    let times = [start, start + .seconds(86_400), start + .seconds(172_800)]
    for time in times {
      let isEarly = schedule.isDue(now: time - .nanoseconds(1))
      let isDue = schedule.isDue(now: time)
      #expect(schedule.deadline == time + .seconds(86_400) && !isEarly && isDue)
    }
    schedule.restart(now: start + .seconds(172_900))
    #expect(schedule.deadline == start + .seconds(172_900))
  }
}
