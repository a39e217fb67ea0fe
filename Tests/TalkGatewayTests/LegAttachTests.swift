import TalkCore
import TalkCrypto
import TalkWire
import Testing

@testable import TalkGateway

@Suite struct LegAttachTests {
  @Test func theFirstReplyHoldsTheFirstFrames() throws {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<100)
    phone.attach()
    let start = bench.now
    bench.run(.milliseconds(11), reporting: false)
    // One round trip of 10 ms.
    let burst = try #require(phone.heard[bench.id(1)])
    #expect(burst.firstAt == start + .milliseconds(10))
    #expect(burst.frames[0] == BurstSample.frame(0) && burst.frames[15] == BurstSample.frame(15))
    #expect(burst.name == "Ann" && phone.seat == 1)
    #expect(bench.has { $0 == .attached(Sample.device(1), foreground: false, allowed: .critical) })
  }

  @Test func everyFrameOfTheBurstComesAndThenItsEnd() throws {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<150)
    phone.attach()
    bench.frames(1, 150..<200, live: true)
    bench.end(1, lastFrame: 199)
    bench.run(.seconds(1))
    let burst = try #require(phone.heard[bench.id(1)])
    #expect(burst.isOver && burst.lastFrame == 199)
    for frame in 0..<200 { #expect(burst.frames[UInt32(frame)] == BurstSample.frame(frame)) }
  }

  @Test func anUnprovenAddressIsSentAtMostThreeTimesWhatItSent() {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<3_000)
    phone.attach()
    let attach = phone.outbox[0]
    phone.outbox = []
    let victim = Endpoint(ipv4: 0x0909_0909, port: 9)
    bench.hand(attach, from: victim)
    bench.run(.seconds(4))
    #expect((1_200...3_600).contains(bench.sentTo[victim] ?? 0))
    // A copy earns one more answer, no more than it brought.
    let before = bench.sentTo[victim] ?? 0
    bench.hand(attach, from: victim)
    #expect((bench.sentTo[victim] ?? 0) - before <= 1_200)
    bench.run(.seconds(3))
    #expect(bench.legs.legs.isEmpty)
    #expect(bench.has { $0 == .detached(Sample.device(1), .silent) })
  }

  @Test func aTicketIsGoodOnceAndItsSuccessorNextTime() {
    let bench = LegBench()
    let phone = bench.addPhone()
    let first = phone.ticket
    phone.attach()
    bench.run(.milliseconds(100))
    #expect(phone.isAttached && phone.ticket != first)
    #expect(bench.has { if case .confirmed = $0 { true } else { false } })
    let second = phone.ticket
    phone.ticket = first
    phone.attach(salt: 2)
    bench.run(.milliseconds(100))
    #expect(phone.status == .refused && bench.legs.counts.refused == 1)
    phone.ticket = second
    phone.attach(salt: 3)
    bench.run(.milliseconds(100))
    #expect(phone.status == .attached && phone.ticket != second)
  }

  @Test func anAnswerThatWasLostIsGivenAgainToTheSameAttach() {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<50)
    bench.loss = 1
    phone.attach()
    let attach = phone.outbox[0]
    bench.hand(attach, from: phone.endpoint)
    bench.loss = 0
    phone.outbox = []
    phone.repeatAttach()
    bench.run(.milliseconds(50))
    #expect(phone.isAttached && bench.legs.legs.count == 1)
    #expect(bench.events.filter { if case .attached = $0 { true } else { false } }.count == 1)
    bench.run(.seconds(1))
    #expect(phone.heard[bench.id(1)]?.frames.count == 50)
  }

  @Test func aFreshAttachAfterALostAnswerTakesTheUnconfirmedOnesPlace() {
    let bench = LegBench()
    let phone = bench.addPhone()
    let request = PhoneRequest(number: 1, floorClass: .normal)
    phone.attach(request: request)
    bench.hand(phone.outbox[0], from: phone.endpoint)
    phone.outbox = []
    phone.attach(request: request, salt: 2)
    bench.run(.seconds(1))
    #expect(phone.isAttached && bench.legs.legs.count == 1)
    #expect(bench.events.filter { $0 == .floorRequest(Sample.device(1), request) }.count == 1)
    #expect(!bench.has { if case .detached = $0 { true } else { false } })
  }

  @Test func aPhoneIsBoundToItsKey() {
    let bench = LegBench()
    let phone = bench.addPhone()
    phone.attach()
    bench.run(.milliseconds(100))
    let thief = bench.addPhone()
    thief.ticket = phone.ticket
    thief.attach()
    bench.run(.milliseconds(100))
    #expect(thief.status == .refused && bench.legs.isAttached(Sample.device(1)))
  }

  @Test func whoDoesNotKnowTheGatewaysKeyGetsNoAnswer() {
    let bench = LegBench()
    let stranger = TestPhone(
      number: 9, ticket: [UInt8](repeating: 9, count: 32),
      gateway: Key32([UInt8](repeating: 7, count: 32))!)
    stranger.attach()
    bench.hand(stranger.outbox[0], from: stranger.endpoint)
    #expect(bench.sent.isEmpty && bench.legs.counts.malformed == 1)
  }

  @Test func aPhoneGoesOnWhereItWas() throws {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<100)
    phone.attach(lastBurst: bench.id(1), lastFrame: 59)
    bench.run(.seconds(1))
    let burst = try #require(phone.heard[bench.id(1)])
    #expect(burst.frames.keys.min() == 60 && burst.frames.keys.max() == 99)
  }

  @Test func aPhoneThatWakesAfterTheEndHearsAllThatItMissedInOrder() {
    let bench = LegBench()
    let phone = bench.addPhone()
    for burst in 1...3 {
      bench.begin(burst)
      bench.frames(burst, 0..<40)
      bench.end(burst, lastFrame: 39)
    }
    bench.now += .seconds(20)
    phone.attach(lastBurst: bench.id(1), lastFrame: 39)
    bench.run(.seconds(3))
    #expect(phone.order == [bench.id(2), bench.id(3)])
    for burst in 2...3 {
      #expect(phone.heard[bench.id(burst)]?.frames.count == 40)
      #expect(phone.heard[bench.id(burst)]?.isOver == true)
    }
  }

  @Test func whatIsOlderThanThirtySecondsIsNotSent() {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<40)
    bench.end(1, lastFrame: 39)
    bench.now += .seconds(30)
    phone.attach()
    bench.run(.seconds(1))
    #expect(phone.isAttached && phone.order.isEmpty)
  }

  @Test func withoutAnAnswerOfTheRegistryNothingIsSaidAndNothingStays() {
    let bench = LegBench()
    bench.answersLookUps = false
    let phone = bench.addPhone()
    phone.attach()
    bench.run(.seconds(6))
    #expect(bench.sent.isEmpty && bench.legs.pending.isEmpty && bench.legs.deadline == nil)
  }

  @Test func oneSourceCannotFloodTheRegistry() {
    let bench = LegBench()
    bench.answersLookUps = false
    let phone = bench.addPhone()
    for salt in 1...100 {
      phone.attach(salt: UInt8(salt))
      bench.hand(phone.outbox.removeLast(), from: phone.endpoint)
    }
    #expect(bench.legs.pending.count <= 6 && bench.legs.counts.flooded >= 94)
  }

  @Test func afterARestartOfTheGatewayAPhoneAttachesWithTheTicketItWasGiven() throws {
    let folder = RegistryFolder()
    let bench = LegBench()
    let phone = bench.addPhone()
    let first = phone.ticket
    do {
      let registry = try folder.openWithChannel()
      _ = try registry.add(
        Sample.device(1), name: "Ann's phone", channel: Sample.channel,
        ticket: TicketHash(of: first), at: Sample.now)
      bench.registry = registry
      phone.attach()
      bench.run(.milliseconds(100))
      #expect(phone.isAttached && phone.ticket != first)
      bench.registry = nil
    }
    bench.restart()
    bench.registry = try folder.open()
    bench.begin(1)
    bench.frames(1, 0..<20)
    // Its old leg is unknown here: nothing is answered, so the app attaches anew.
    phone.outbox = []
    phone.say(.keepalive)
    bench.run(.milliseconds(50))
    #expect(bench.legs.counts.unknown == 1)
    phone.attach(salt: 2)
    bench.run(.milliseconds(500))
    #expect(phone.status == .attached && phone.heard[bench.id(1)]?.frames.count == 20)
    let (second, seen) = (phone.ticket, try bench.registry?.phones(in: nil).first?.seen)
    #expect(seen == Sample.now)
    phone.ticket = first
    phone.attach(salt: 3)
    bench.run(.milliseconds(100))
    #expect(phone.status == .refused && phone.ticket == first && second != first)
  }

  @Test func aPowerCutBetweenTheAnswerAndItsConfirmationLocksNobodyOut() throws {
    let folder = RegistryFolder()
    let bench = LegBench()
    let phone = bench.addPhone()
    let registry = try folder.openWithChannel()
    _ = try registry.add(
      Sample.device(1), name: "Ann's phone", channel: Sample.channel,
      ticket: TicketHash(of: phone.ticket), at: Sample.now)
    bench.registry = registry
    phone.attach()
    // The phone has its answer; the gateway dies before it hears of that.
    bench.run(.milliseconds(11))
    #expect(phone.isAttached)
    bench.restart()
    phone.attach(salt: 2)
    bench.run(.milliseconds(100))
    #expect(phone.status == .attached)
  }
}
