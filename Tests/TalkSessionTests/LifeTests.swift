import CAllocationProbe
import TalkCore
import TalkCrypto
import TalkWire
import Testing

@testable import TalkSession

@Suite struct LifeTests {
  private func number(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// Both speak every 20 ms for a good five minutes, over a network that reorders and duplicates.
  @Test func newKeysComeInTheMidstOfTrafficAndNothingIsLost() throws {
    let pair = Pair(Pair.Network(jitter: .milliseconds(30), duplicates: 0.05))
    pair.dial(pair.a, pair.b)
    pair.run(.seconds(1))
    let before = try #require(pair.a.table.links.values.first { _ in true })
    let hash = before.current.handshakeHash
    let links = [try #require(pair.link(pair.a, pair.b)), try #require(pair.link(pair.b, pair.a))]
    let count = 340 * 50
    for index in 0..<count {
      #expect(pair.say(number(index), pair.a, pair.b))
      #expect(pair.say(number(index), pair.b, pair.a))
      pair.run(.milliseconds(20))
    }
    pair.run(.seconds(40))
    #expect(pair.heard(pair.a).count == count && Set(pair.heard(pair.a)).count == count)
    #expect(pair.heard(pair.b).count == count && Set(pair.heard(pair.b)).count == count)
    let hashes = pair.nodes.map { $0.table.links.values.map(\.current.handshakeHash) }
    #expect(hashes[0] == hashes[1] && hashes[0] != [hash])
    #expect([pair.link(pair.a, pair.b), pair.link(pair.b, pair.a)] == links)
    #expect(pair.a.ups.count == 1 && pair.a.downs.isEmpty && pair.b.downs.isEmpty)
    #expect(pair.a.table.sessions.count == 1 && pair.b.table.sessions.count == 1)
    let initiators = pair.nodes.map { node in node.sent.filter { $0.bytes[0] == 1 }.count }
    #expect(initiators == [2, 0])
  }

  /// Keeps a link alive for a time; how long after the start the second INIT was sent.
  private func secondInitiation(_ pair: Pair, within limit: Duration) -> Duration? {
    let start = pair.now
    while pair.now - start < limit {
      pair.say([0], pair.a, pair.b)
      pair.say([0], pair.b, pair.a)
      pair.run(.seconds(1))
    }
    let times = pair.a.sent.filter { $0.bytes[0] == 1 }.map { $0.at - start }
    return times.dropFirst().first
  }

  @Test(arguments: 1...10) func newKeysAreMadeAfterFiveMinutesGiveOrTakeATenth(
    seed: Int
  ) throws {
    let time = try #require(
      secondInitiation(Pair.connected(seed: UInt64(seed)), within: .seconds(340)))
    #expect(time > .seconds(265) && time < .seconds(335))
  }

  @Test func aBurstPutsNewKeysOffForTenMinutesAtMost() throws {
    let pair = Pair.connected()
    pair.a.table.setBurst(Pair.channel, true)
    let forced = try #require(secondInitiation(pair, within: .seconds(640)))
    #expect(forced > .seconds(595) && forced < .seconds(605))
    let other = Pair.connected()
    other.a.table.setBurst(Pair.channel, true)
    #expect(secondInitiation(other, within: .seconds(400)) == nil)
    other.a.table.setBurst(Pair.channel, false)
    let ended = other.now
    other.run(.seconds(1))
    #expect(other.a.sent.last { $0.bytes[0] == 1 }.map { $0.at - ended < .seconds(1) } == true)
  }

  @Test func newKeysAreMadeWhenOldOnesWereUsedOftenByEitherSide() throws {
    for talker in 0...1 {
      let pair = Pair.connected()
      let link = try #require(pair.nodes[talker].table.links.values.first { _ in true })
      link.current.transport?.nextCounter = UInt64(1.2 * Double(1 << 40))
      pair.say([1], pair.nodes[talker], pair.nodes[1 - talker])
      pair.run(.seconds(1))
      #expect(pair.a.sent.filter { $0.bytes[0] == 1 }.count == 2, "talker \(talker)")
      #expect(link.current.transport?.nextCounter ?? 0 < 100)
    }
  }

  @Test func noCounterReachesTheLimit() throws {
    let pair = Pair.connected()
    let link = try #require(pair.a.table.links.values.first { _ in true })
    link.current.rekeyCounter = .max
    link.current.transport?.nextCounter = TransportKeys.counterLimit - 1
    #expect(pair.say([1], pair.a, pair.b))
    #expect(!pair.say([2], pair.a, pair.b))
    pair.run(.seconds(1))
    #expect(pair.heard(pair.b) == [[1]])
  }

  @Test func keysThatCannotBeRenewedEndTheLinkAfterFifteenMinutes() {
    let pair = Pair.connected()
    let start = pair.now
    pair.network.passes = { bytes, _ in bytes[0] != 1 }
    while pair.a.downs.isEmpty, pair.now - start < .seconds(1_000) {
      pair.say([0], pair.a, pair.b)
      pair.say([0], pair.b, pair.a)
      pair.run(.seconds(1))
    }
    #expect(pair.now - start > .seconds(897) && pair.now - start < .seconds(902))
    pair.run(.seconds(2))
    #expect(pair.a.downs == [.rekeyFailed] && pair.b.downs == [.rekeyFailed])
    #expect(!pair.say([0], pair.a, pair.b))
  }

  @Test func aSilentLinkIsDropped() {
    let pair = Pair.connected()
    let start = pair.now
    pair.network.loss = 1
    let time = pair.run(atMost: .seconds(100)) {
      !pair.a.downs.isEmpty && !pair.b.downs.isEmpty
    }
    #expect(time != nil)
    #expect(pair.a.downs == [.timeout] && pair.b.downs == [.timeout])
    #expect(pair.now - start > .seconds(58) && pair.now - start < .seconds(61))
    #expect(pair.a.table.sessions.isEmpty)
    pair.run(SessionLimits.rejectTime)
    #expect(pair.a.table.deadline == nil)
  }

  @Test func byeIsHeardAndEndsTheLinkAtOnce() throws {
    let pair = Pair.connected()
    let link = try #require(pair.link(pair.a, pair.b))
    let body: [UInt8] = [1, 2, 3]
    body.withUnsafeBytes {
      pair.a.table.close(
        link, bye: RawSpan(_unsafeBytes: $0), now: pair.now, slab: pair.a.slab)
    }
    pair.settle(pair.a)
    pair.run(.milliseconds(20))
    #expect(pair.heard(pair.b, kind: .bye) == [[1, 2, 3]])
    #expect(pair.b.downs == [.bye] && pair.a.downs.isEmpty)
    #expect(pair.a.table.sessions.isEmpty && pair.b.table.sessions.isEmpty)
    #expect(pair.a.table.state(of: link) == nil)
    pair.dial(pair.b, pair.a)
    pair.run(.seconds(1))
    #expect(pair.link(pair.a, pair.b) != nil && pair.link(pair.a, pair.b) != link)
  }

  @Test func leavingAChannelSaysByeToAllAndForgetsIt() {
    let pair = Pair.connected()
    let third = pair.addNode(3)
    pair.dial(pair.a, third)
    pair.run(.seconds(1))
    [UInt8](repeating: 4, count: 1).withUnsafeBytes {
      pair.a.table.removeChannel(
        Pair.channel, bye: RawSpan(_unsafeBytes: $0), now: pair.now, slab: pair.a.slab)
    }
    pair.settle(pair.a)
    pair.run(.seconds(1))
    #expect(pair.b.downs == [.bye] && third.downs == [.bye])
    pair.dial(pair.b, pair.a)
    pair.run(.seconds(5))
    #expect(pair.a.sent.last?.bytes[0] == 0x10)
    #expect(pair.a.table.sessions.isEmpty)
  }

  @Test func onlyTheNewestAuthenticDatagramMovesALink() throws {
    let pair = Pair.connected()
    let link = try #require(pair.link(pair.a, pair.b))
    let old = pair.b.endpoint
    pair.network.passes = { _, _ in false }
    pair.say([1], pair.b, pair.a)
    pair.say([2], pair.b, pair.a)
    let late = pair.b.sent[pair.b.sent.count - 2].bytes
    let newest = pair.b.sent[pair.b.sent.count - 1].bytes
    let fresh = Pair.endpoint(50)
    let liar = Pair.endpoint(60)
    var forged = newest
    forged[20] ^= 1
    pair.hand(forged, from: liar, to: pair.a)
    #expect(pair.a.table.state(of: link)?.endpoint == old)
    pair.hand(newest, from: fresh, to: pair.a)
    #expect(pair.a.table.state(of: link)?.endpoint == fresh)
    #expect(pair.a.events.contains(.moved(link, fresh)))
    pair.hand(late, from: old, to: pair.a)
    #expect(pair.heard(pair.a) == [[2], [1]])
    pair.hand(newest, from: liar, to: pair.a)
    #expect(pair.a.table.state(of: link)?.endpoint == fresh)
    #expect(pair.a.table.counts.replayed == 1 && pair.a.table.counts.forged == 1)
  }

  @Test func aReplayedSessionIsNeverHeardTwice() {
    let pair = Pair.connected()
    for index in 0..<50 {
      pair.say(number(index), pair.b, pair.a)
      pair.run(.milliseconds(20))
    }
    let events = pair.a.log.count
    let recorded = pair.b.sent
    for flight in recorded { pair.hand(flight.bytes, from: flight.from, to: pair.a) }
    #expect(pair.a.log.count == events)
    pair.a.table.dropAll()
    for flight in recorded {
      #expect(pair.hand(flight.bytes, from: flight.from, to: pair.a).isEmpty)
    }
    #expect(pair.a.log.count == events)
  }

  @Test(.enabled(if: talk_probe_works() != 0, "a sanitizer has malloc for itself"))
  func sealingAndOpeningOnALinkTakesNoMemory() throws {
    let pair = Pair.connected()
    let link = try #require(pair.link(pair.b, pair.a))
    let count = 200
    let body = [UInt8](repeating: 3, count: 80)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_200, alignment: 16)
    defer { buffer.deallocate() }
    var taken: [UInt64] = []
    taken.reserveCapacity(2 * count)
    for index in 0..<count {
      let before = talk_probe_allocations()
      let sealed = body.withUnsafeBytes {
        pair.b.table.seal(
          kind: .voice, flags: 0, body: RawSpan(_unsafeBytes: $0), padded: index % 2 == 0,
          to: link, slab: pair.b.slab, now: pair.now)
      }
      taken.append(talk_probe_allocations() - before)
      let range = try #require(sealed).range
      let datagram = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
      datagram.copyMemory(from: UnsafeRawBufferPointer(pair.b.slab[range]))
      let start = talk_probe_allocations()
      pair.a.table.receive(
        datagram, from: pair.b.endpoint, now: pair.now, entropy: &pair.a.entropy,
        slab: pair.a.slab)
      let event = pair.a.table.popEvent()
      taken.append(talk_probe_allocations() - start)
      guard case .data(_, .voice, _, let place)? = event else {
        Issue.record("\(String(describing: event))")
        return
      }
      #expect(place.count == 80)
    }
    #expect(taken.allSatisfy { $0 == 0 }, "\(taken.enumerated().filter { $0.element != 0 })")
  }

  @Test func bodiesBeyondTheLimitAreRefusedAtTheSealer() throws {
    let pair = Pair.connected()
    let link = try #require(pair.link(pair.a, pair.b))
    for (count, padded, fits) in [
      (1_020, true, true), (1_021, true, false), (1_164, false, true), (1_165, false, false),
    ] {
      let sealed = [UInt8](repeating: 1, count: count).withUnsafeBytes {
        pair.a.table.seal(
          kind: .voice, flags: 0, body: RawSpan(_unsafeBytes: $0), padded: padded, to: link,
          slab: pair.a.slab, now: pair.now)
      }
      #expect((sealed != nil) == fits, "\(count)")
      if let sealed { #expect(sealed.range.count == (padded ? 1_056 : 1_200)) }
    }
  }
}
