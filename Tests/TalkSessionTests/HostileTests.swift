import TalkCore
import TalkCrypto
import TalkWire
import Testing

@testable import TalkSession

@Suite struct HostileTests {
  struct Stranger: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let epoch: UInt64
    let secret: UInt8
    static let all = [
      Stranger(testDescription: "another secret", epoch: 0, secret: 8),
      Stranger(testDescription: "another epoch with the same keys", epoch: 1, secret: 7),
    ]
  }

  @Test(arguments: Stranger.all) func whoLacksTheSecretGetsNothing(stranger: Stranger) {
    let pair = Pair()
    let keys = ChannelKeys(
      secret: [UInt8](repeating: stranger.secret, count: 32), memory: .ordinary)!
    let other = pair.addNode(3, epoch: stranger.epoch, keys: keys)
    pair.dial(other, pair.a)
    pair.run(.seconds(100))
    #expect(other.sent.count > 20)
    #expect(pair.a.sent.isEmpty && pair.a.events.isEmpty)
    #expect(pair.a.table.sessions.isEmpty)
  }

  /// Datagrams of every kind from a whole life of two nodes, each node in the stage in which its
  /// datagram counts: mutated ones must leave no trace.
  private func samples() -> [(pair: Pair, target: Pair.Node, flight: Pair.Flight)] {
    func stage(_ type: UInt8, from index: Int) -> (Pair, Pair.Node, Pair.Flight)? {
      let pair = Pair(seed: UInt64(type) + 1)
      pair.network.passes = { _, _ in false }
      pair.dial(pair.a, pair.b)
      for _ in 0..<10_000 {
        _ = pair.step(until: pair.now + .seconds(1))
        for node in pair.nodes {
          guard let flight = node.sent.last else { continue }
          let target = node === pair.a ? pair.b : pair.a
          if node === pair.nodes[index], flight.bytes[0] == type { return (pair, target, flight) }
          node.sent.removeAll()
          pair.hand(flight.bytes, from: flight.from, to: target)
        }
      }
      return nil
    }
    var result = [(1, 0), (2, 1)].compactMap { stage(UInt8($0.0), from: $0.1) }
    let connected = Pair.connected(seed: 77)
    connected.network.passes = { _, _ in false }
    for kind in [Kind.presence, .bye] {
      connected.say([1, 2, 3], connected.b, connected.a, kind: kind)
      result.append((connected, connected.a, connected.b.sent[connected.b.sent.count - 1]))
    }
    // FINAL and AUTH leave together; hand the target neither.
    let half = Pair(seed: 5)
    half.network.passes = { bytes, _ in bytes[0] <= 2 }
    half.dial(half.a, half.b)
    half.run(.milliseconds(50))
    if let final = half.a.sent.first(where: { $0.bytes[0] == 3 }) {
      result.append((half, half.b, final))
    }
    return result.map { (pair: $0.0, target: $0.1, flight: $0.2) }
  }

  @Test func aHundredThousandMutatedDatagramsLeaveNoTrace() {
    var generator = SeededGenerator(seed: 2_026)
    let samples = samples()
    #expect(samples.map { $0.flight.bytes[0] } == [1, 2, 0x10, 0x10, 3])
    var tried = 0
    for sample in samples {
      let events = sample.target.log.count
      for _ in 0..<20_000 {
        let bad = mutated(sample.flight.bytes, &generator)
        guard bad != sample.flight.bytes else { continue }
        tried += 1
        let answers = sample.pair.hand(bad, from: sample.flight.from, to: sample.target)
        #expect(answers.isEmpty)
      }
      #expect(sample.target.log.count == events)
    }
    #expect(tried > 99_000)
    // Nothing was spoiled: the true one still counts.
    for sample in samples.reversed() where sample.flight.bytes[0] != 0x10 {
      let before = sample.target.table.counts
      sample.pair.hand(sample.flight.bytes, from: sample.flight.from, to: sample.target)
      #expect(sample.target.table.counts == before)
    }
  }

  private func mutated(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var result = bytes
    switch generator.next() % 5 {
    case 0: result.removeLast(Int(generator.next() % UInt64(result.count)) + 1)
    case 1: result += (0...Int(generator.next() % 40)).map { _ in UInt8(generator.next() % 256) }
    case 2:
      for _ in 0..<8 {
        result[Int(generator.next() % UInt64(result.count))] = UInt8(generator.next() % 256)
      }
    case 3:
      let place = Int(generator.next() % 16)
      result[place] = UInt8(generator.next() % 256)
    default:
      let bit = Int(generator.next() % UInt64(result.count * 8))
      result[bit / 8] ^= 1 << UInt8(bit % 8)
    }
    return result
  }

  @Test func pureNoiseOfEveryLengthIsDropped() {
    let pair = Pair.connected()
    var generator = SeededGenerator(seed: 3)
    let events = pair.a.log.count
    for length in 0...1_300 {
      var noise = (0..<length).map { _ in UInt8(generator.next() % 256) }
      for type in [UInt8(1), 2, 3, 4, 5, 0x10, 0x11] {
        if length > 1 {
          noise[0] = type
          noise[1] = 1
        }
        #expect(pair.hand(noise, from: Pair.endpoint(9), to: pair.a).isEmpty)
      }
    }
    #expect(pair.a.log.count == events)
  }

  /// INITs of a member, whoever it is and wherever they are said to come from.
  private func initiations(_ count: Int) -> [[UInt8]] {
    let pair = Pair(seed: 99)
    pair.network.passes = { _, _ in false }
    while pair.a.sent.count < count {
      pair.dial(pair.a, pair.b)
      pair.run(.seconds(90))
    }
    return pair.a.sent.prefix(count).map(\.bytes)
  }

  @Test func initiationsAreAnsweredAtALimitedRatePerSource() {
    let pair = Pair()
    let datagrams = initiations(50)
    func answered(_ range: Range<Int>, _ source: (Int) -> Endpoint) -> Int {
      datagrams[range].enumerated().filter {
        !pair.hand($0.element, from: source($0.offset), to: pair.b).isEmpty
      }.count
    }
    // One address, many ports: a burst of five, then one each 50 ms.
    let ports = { (index: Int) in Endpoint(ipv4: 0x0a00_0009, port: UInt16(index) + 1) }
    #expect(answered(0..<7, ports) == 5)
    pair.now += .milliseconds(50)
    #expect(answered(7..<9, ports) == 1)
    // One /64 is one source; other networks and single link-local hosts are not held up by it.
    let network = { (index: Int) in
      Endpoint(address: Bytes16(high: 0x2001_0db8 << 32, low: UInt64(index)), port: 1)
    }
    #expect(answered(10..<17, network) == 5)
    let local = { (index: Int) in
      Endpoint(address: Bytes16(high: 0xfe80 << 48, low: UInt64(index)), port: 1, scope: 2)
    }
    #expect(answered(20..<27, local) == 7)
  }

  @Test func initiationsAreAnsweredAtALimitedRateInAll() {
    let pair = Pair()
    let answers = initiations(80).enumerated().filter {
      !pair.hand($0.element, from: Pair.endpoint(UInt64($0.offset) + 10), to: pair.b).isEmpty
    }
    #expect(answers.count == 50)
    #expect(pair.b.table.counts.flooded == 30)
  }

  @Test func halfOpenHandshakesAreLimitedPerSourceAndInAllAndLapse() {
    let pair = Pair()
    let datagrams = initiations(300)
    for (index, datagram) in datagrams[..<12].enumerated() {
      pair.hand(datagram, from: Endpoint(ipv4: 0x0a00_0009, port: UInt16(index) + 1), to: pair.b)
      pair.now += .milliseconds(100)
    }
    #expect(pair.b.table.sessions.count == SessionLimits.halfOpenPerSource)
    for (index, datagram) in datagrams[12...].enumerated() {
      pair.hand(datagram, from: Pair.endpoint(UInt64(index) + 10), to: pair.b)
      pair.now += .milliseconds(25)
    }
    #expect(pair.b.table.sessions.count == SessionLimits.halfOpen)
    pair.run(SessionLimits.halfOpenTime)
    #expect(pair.b.table.sessions.isEmpty)
  }

  @Test func oneEndpointCannotCrowdOutOthersOfItsAddress() {
    let pair = Pair()
    for datagram in initiations(20) {
      pair.hand(datagram, from: Pair.endpoint(7), to: pair.b)
      pair.now += .milliseconds(100)
    }
    #expect(pair.b.table.sessions.count == SessionLimits.attemptsKept)
  }

  @Test func withoutEntropyNothingIsAnsweredAndItIsCounted() {
    let pair = Pair()
    var datagram = initiations(1)[0]
    var empty = EntropyPool()
    datagram.withUnsafeMutableBytes {
      pair.b.table.receive(
        $0, from: pair.a.endpoint, now: pair.now, entropy: &empty, slab: pair.b.slab)
    }
    #expect(pair.b.table.popOutgoing() == nil && pair.b.table.counts.starved == 1)
    pair.dial(pair.a, pair.b)
    pair.a.table.wake(now: pair.now, entropy: &empty, slab: pair.a.slab)
    #expect(pair.a.table.popOutgoing() == nil && pair.a.table.counts.starved == 1)
    pair.run(.seconds(2))
    #expect(pair.a.ups.count == 1)
  }

  /// What a member, who has the channel's secret, may try in its AUTH.
  struct Lie: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isBelieved: Bool
    let change: @Sendable (inout AuthBody) -> Void

    private static let victim = Pair.identity(2).publicIdentity

    static let all = [
      Lie(testDescription: "the truth", isBelieved: true) { _ in },
      Lie(testDescription: "another nickname of its own", isBelieved: true) { $0.nickname = "x" },
      Lie(testDescription: "another's signing key", isBelieved: false) {
        $0.signingKey = Lie.victim.signing.bytes
      },
      Lie(testDescription: "another's keys", isBelieved: false) {
        $0.signingKey = Lie.victim.signing.bytes
        $0.agreementKey = Lie.victim.agreement.bytes
      },
      Lie(testDescription: "another agreement key", isBelieved: false) {
        $0.agreementKey = Lie.victim.agreement.bytes
      },
      Lie(testDescription: "a changed signature", isBelieved: false) { $0.signature[63] ^= 1 },
      Lie(testDescription: "another index of its own", isBelieved: false) { $0.sender ^= 1 },
      Lie(testDescription: "another index of ours", isBelieved: false) { $0.receiver ^= 1 },
      Lie(testDescription: "the other role's signature", isBelieved: false) {
        $0.signature = Pair.identity(1).sign(Array("talkaround auth v1".utf8) + [1])
      },
    ]
  }

  @Test(arguments: Lie.all) func anIntroductionIsBelievedOnlyWhenItsSignatureFits(lie: Lie) throws {
    let pair = Pair()
    pair.network.passes = { bytes, _ in bytes[0] <= 3 }
    pair.dial(pair.a, pair.b)
    pair.run(.milliseconds(50))
    let session = try #require(pair.a.table.sessions.values.first { $0.stage == .verifying })
    let identity = pair.a.table.identity
    let text = session.signedText(
      by: .initiator, ours: identity.publicIdentity.agreement, epoch: 0)
    var auth = AuthBody(
      signingKey: identity.publicIdentity.signing.bytes,
      agreementKey: identity.publicIdentity.agreement.bytes, boot: 1,
      sender: session.localIndex, receiver: session.remoteIndex, joining: false,
      nickname: "Ann", rosterDigest: .zero, signature: identity.sign(text))
    lie.change(&auth)
    var body = [UInt8](repeating: 0, count: AuthBody.size)
    var span = body.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    auth.write(to: &writer)
    let sealed = body.withUnsafeBytes {
      pair.a.table.seal(
        kind: .auth, flags: 0, body: RawSpan(_unsafeBytes: $0), size: 320, with: session,
        slab: pair.a.slab)
    }
    #expect(sealed)
    pair.settle(pair.a)
    let datagram = try #require(pair.a.sent.last).bytes
    pair.hand(datagram, from: pair.a.endpoint, to: pair.b)
    let believed = pair.b.events.contains { if case .auth = $0 { true } else { false } }
    #expect(believed == lie.isBelieved)
    #expect(pair.b.table.counts.forged == (lie.isBelieved ? 0 : 1))
    #expect(pair.b.sent.contains { $0.bytes[0] == 0x10 } == lie.isBelieved)
  }
}
