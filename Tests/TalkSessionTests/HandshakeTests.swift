import TalkCore
import TalkCrypto
import TalkWire
import Testing

@testable import TalkSession

@Suite struct HandshakeTests {
  @Test func threeMessagesAndTwoIntroductionsMakeALink() throws {
    let pair = Pair()
    pair.a.table.setOwnChain(Pair.channel, [[1, 2, 3], [4]], joining: true)
    pair.b.table.setRosterDigest(Pair.channel, Bytes16(high: 5, low: 6))
    pair.dial(pair.a, pair.b)
    pair.run(.milliseconds(60))
    #expect(pair.a.ups.count == 1 && pair.b.ups.count == 1)
    #expect(pair.a.sent.map { $0.bytes[0] } == [1, 3, 0x10, 0x10, 0x10, 0x10])
    #expect(pair.b.sent.map { $0.bytes[0] } == [2, 0x10])
    for flight in pair.a.sent + pair.b.sent {
      #expect(flight.bytes.count == (flight.bytes[0] == 0x10 ? 352 : 192))
    }
    #expect(pair.heard(pair.b, kind: .admit) == [[1, 2, 3], [4]])
    guard case .up(_, let seen)? = pair.b.events.last else {
      Issue.record("no up at the responder")
      return
    }
    #expect(seen.identity == Pair.identity(1).publicIdentity)
    #expect(seen.nickname == "node 1" && seen.joining && seen.boot == 1)
    guard case .up(_, let back)? = pair.a.events.last else {
      Issue.record("no up at the initiator")
      return
    }
    #expect(back.rosterDigest == Bytes16(high: 5, low: 6) && !back.joining)
    #expect(pair.say([9], pair.a, pair.b) && pair.say([8], pair.b, pair.a))
    pair.run(.seconds(1))
    #expect(pair.heard(pair.b) == [[9]] && pair.heard(pair.a) == [[8]])
  }

  struct Weather: Sendable {
    let loss: Double
    let limit: Duration
    static let all = [
      Weather(loss: 0, limit: .seconds(1)), Weather(loss: 0.1, limit: .seconds(10)),
      Weather(loss: 0.3, limit: .seconds(30)), Weather(loss: 0.5, limit: .seconds(90)),
    ]
  }

  @Test(arguments: Weather.all) func itCompletesUnderLossReorderingAndDuplicates(
    weather: Weather
  ) throws {
    var times: [Duration] = []
    for seed in 1...40 {
      let pair = Pair(
        seed: UInt64(seed),
        Pair.Network(jitter: .milliseconds(20), loss: weather.loss, duplicates: 0.1))
      let chain = (0..<4).map { [UInt8](repeating: $0, count: 250) }
      pair.a.table.setOwnChain(Pair.channel, chain, joining: false)
      pair.b.table.setOwnChain(Pair.channel, Array(chain.prefix(2)), joining: false)
      // Neither knows the other: both wait for the whole chain.
      pair.b.answer = { [unowned pair] _ in
        chain.allSatisfy { pair.heard(pair.b, kind: .admit).contains($0) } ? .accept : .leave
      }
      pair.a.answer = { [unowned pair] _ in
        Set(pair.heard(pair.a, kind: .admit)).count == 2 ? .accept : .leave
      }
      pair.dial(pair.a, pair.b)
      let time = pair.run(atMost: weather.limit) {
        pair.link(pair.a, pair.b) != nil && pair.link(pair.b, pair.a) != nil
      }
      times.append(try #require(time, "seed \(seed)"))
      pair.network.loss = 0
      pair.run(.seconds(2))
      #expect(pair.say([1], pair.a, pair.b) && pair.say([2], pair.b, pair.a))
      pair.run(.seconds(1))
      #expect(pair.heard(pair.b).contains([1]) && pair.heard(pair.a).contains([2]))
    }
    times.sort()
    #expect(times[20] < .seconds(weather.loss == 0 ? 1 : 5), "median \(times[20])")
  }

  @Test func retriesFollowTheScheduleWithAFreshKeyEachTime() {
    let pair = Pair()
    pair.network.passes = { _, _ in false }
    let start = pair.now
    pair.dial(pair.a, pair.b)
    pair.run(.seconds(200))
    let times = pair.a.sent.map { Double(($0.at - start).wholeNanoseconds) / 1e9 }
    let expected = [0, 0.1, 0.3, 0.7, 1.7, 3.7, 8.7]
    for (time, planned) in zip(times, expected) { #expect(abs(time - planned) <= planned * 0.1) }
    #expect(times.count > 20 && times.last! < 90)
    let ephemerals = Set(pair.a.sent.map { Array($0.bytes[16..<48]) })
    #expect(ephemerals.count == times.count)
    #expect(pair.a.table.sessions.isEmpty && pair.a.table.dials.isEmpty)
    #expect(pair.a.table.deadline == nil)
  }

  @Test func aHelloIsWorthThreeInitiations() {
    let pair = Pair()
    pair.network.passes = { _, _ in false }
    pair.a.table.dial(
      Pair.channel, pair.b.endpoint, waitFirst: false, attempts: 3, now: pair.now)
    pair.run(.seconds(60))
    #expect(pair.a.sent.count == 3)
    #expect(pair.a.table.dials.isEmpty)
  }

  @Test func theSecondSideWaitsAndThenNeedsNoHandshakeOfItsOwn() {
    let pair = Pair()
    pair.dial(pair.a, pair.b)
    pair.dial(pair.b, pair.a, waitFirst: true)
    pair.run(.seconds(5))
    #expect(!pair.b.sent.contains { $0.bytes[0] == 1 })
    let alone = Pair()
    let start = alone.now
    alone.dial(alone.b, alone.a, waitFirst: true)
    alone.run(.seconds(1))
    #expect(alone.b.sent.first.map { $0.at - start } == .milliseconds(300))
    #expect(alone.a.ups.count == 1)
  }

  /// The path is slower than the first pauses: an answer to an older attempt still counts.
  @Test func aSlowPathIsNoObstacle() {
    let pair = Pair(Pair.Network(delay: .milliseconds(350)))
    pair.dial(pair.a, pair.b)
    let time = pair.run(atMost: .seconds(5)) { !pair.a.ups.isEmpty && !pair.b.ups.isEmpty }
    #expect(time.map { $0 < .seconds(2) } == true)
  }

  @Test(arguments: 1...30) func crossedHandshakesEndInOneLinkAndLoseNothing(seed: Int) {
    let pair = Pair(seed: UInt64(seed), Pair.Network(jitter: .milliseconds(15)))
    pair.dial(pair.a, pair.b)
    pair.dial(pair.b, pair.a)
    var spoken: [UInt8: [[UInt8]]] = [0: [], 1: []]
    for number in 0..<1_500 {
      pair.run(.milliseconds(20))
      let body = [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
      // A link that is up at one side may be sent on: the other must be able to read it.
      if pair.say(body, pair.a, pair.b) { spoken[0]!.append(body) }
      if pair.say(body, pair.b, pair.a) { spoken[1]!.append(body) }
    }
    pair.run(.seconds(1))
    #expect(Set(pair.heard(pair.b)) == Set(spoken[0]!))
    #expect(Set(pair.heard(pair.a)) == Set(spoken[1]!))
    #expect(spoken[0]!.count > 1_400)
    #expect(pair.a.ups.count == 1 && pair.b.ups.count == 1)
    #expect(pair.a.downs.isEmpty && pair.b.downs.isEmpty)
    let hashes = pair.nodes.map { node in
      node.table.links.values.map(\.current.handshakeHash)
    }
    #expect(hashes[0] == hashes[1])
    #expect(pair.a.table.sessions.count == 1 && pair.b.table.sessions.count == 1)
  }

  @Test func copiesGetTheSameBytesAgain() throws {
    let pair = Pair()
    pair.dial(pair.a, pair.b)
    _ = pair.run(atMost: .seconds(1)) { !pair.b.sent.isEmpty }
    let initiation = pair.a.sent[0].bytes
    let response = pair.b.sent[0].bytes
    #expect(pair.hand(initiation, from: pair.a.endpoint, to: pair.b).map(\.bytes) == [response])
    let elsewhere = Pair.endpoint(77)
    let again = pair.hand(initiation, from: elsewhere, to: pair.b)
    #expect(again.map(\.bytes) == [response] && again.map(\.to) == [elsewhere])
    let answer = pair.hand(response, from: pair.b.endpoint, to: pair.a)
    let final = try #require(answer.first { $0.bytes[0] == 3 })
    let copy = pair.hand(response, from: pair.b.endpoint, to: pair.a)
    #expect(copy.map(\.bytes) == [final.bytes])
    pair.run(.seconds(1))
    #expect(pair.a.ups.count == 1 && pair.b.ups.count == 1)
    #expect(pair.hand(initiation, from: pair.a.endpoint, to: pair.b).isEmpty)
    #expect(pair.hand(response, from: pair.b.endpoint, to: pair.a).isEmpty)
    #expect(pair.hand(final.bytes, from: pair.a.endpoint, to: pair.b).isEmpty)
  }

  @Test func whoIsRefusedOrLeftWaitingGetsNoLinkAndNoAnswer() {
    for answer in [Pair.Answer.refuse, .leave] {
      let pair = Pair()
      pair.b.answer = { _ in answer }
      pair.dial(pair.a, pair.b)
      pair.run(.seconds(100))
      #expect(pair.a.ups.isEmpty && pair.b.ups.isEmpty)
      #expect(!pair.b.sent.contains { $0.bytes[0] != 2 })
      #expect(pair.a.table.sessions.isEmpty && pair.b.table.sessions.isEmpty)
      #expect(pair.a.table.dials.isEmpty)
    }
  }

  @Test func anInitiatorThatRefusesTheResponderMakesNoLinkOnEitherSide() {
    let pair = Pair()
    pair.a.answer = { _ in .refuse }
    pair.dial(pair.a, pair.b)
    pair.run(.seconds(100))
    #expect(pair.a.ups.isEmpty && pair.b.ups.isEmpty)
    #expect(pair.b.table.sessions.isEmpty)
  }

  @Test func ourselvesAndCopiesOfUsAreToldApart() {
    let pair = Pair()
    pair.a.table.dial(Pair.channel, pair.a.endpoint, waitFirst: false, now: pair.now)
    pair.run(.seconds(5))
    #expect(
      pair.a.events == [.ownIdentity(Pair.channel, pair.a.endpoint, loopback: true)])
    let copy = pair.addNode(3, identity: 1)
    pair.dial(pair.b, pair.a)
    pair.dial(pair.a, copy)
    pair.run(.seconds(5))
    #expect(
      pair.a.events.contains(.ownIdentity(Pair.channel, copy.endpoint, loopback: false)))
    #expect(pair.link(pair.a, pair.a) == nil && pair.a.ups.count == 1)
    #expect(pair.a.table.dials.isEmpty)
  }

  @Test func aSecondWayToALivePeerChangesNothing() throws {
    let pair = Pair.connected()
    let link = try #require(pair.link(pair.a, pair.b))
    let other = Pair.endpoint(200)
    pair.b.endpoint = other
    pair.a.table.dial(Pair.channel, other, waitFirst: false, now: pair.now)
    pair.run(.seconds(1))
    #expect(pair.a.events.last == .alias(link, other))
    #expect(pair.a.table.state(of: link)?.endpoint == Pair.endpoint(2))
    #expect(pair.a.ups.count == 1 && pair.b.ups.count == 1)
  }

  @Test func dialingALivePeerAgainDoesNothingUnlessItStartedAnew() {
    let pair = Pair.connected()
    let sent = pair.a.sent.count
    pair.dial(pair.a, pair.b)
    pair.a.table.dial(
      Pair.channel, pair.b.endpoint, boot: 2, waitFirst: false, now: pair.now)
    pair.run(.seconds(1))
    #expect(pair.a.sent.count == sent)
    pair.nodes[1] = pair.addNode(4, identity: 2, at: pair.b.endpoint, boot: 99)
    pair.nodes.removeLast()
    pair.a.table.dial(
      Pair.channel, pair.b.endpoint, boot: 99, waitFirst: false, now: pair.now)
    pair.run(.seconds(1))
    #expect(pair.a.downs == [.replaced])
    #expect(pair.a.ups.count == 2 && pair.b.ups.count == 1)
    #expect(pair.say([3], pair.a, pair.b))
    pair.run(.seconds(1))
    #expect(pair.heard(pair.b) == [[3]])
  }
}
