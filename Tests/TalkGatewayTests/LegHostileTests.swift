import TalkCore
import TalkWire
import Testing

@testable import TalkGateway

@Suite struct LegHostileTests {
  private static let samples: [LegMessage] = [
    .keepalive, .sleep, .leave,
    .burst(
      Sample.burst, turn: 1 << 47, seat: 65_535, floorClass: .emergency,
      length: .tenMilliseconds, name: "Ann 👩‍👩‍👧"),
    .burstEnd(Sample.burst, lastFrame: .max),
    .received(Sample.burst, next: .max, bits: .max, knowsEnd: true),
    .request(PhoneRequest(number: .max, floorClass: .priority)),
    .release(number: 1, lastFrame: 2), .floor(number: 3, .refused(4)),
    .floor(number: 3, .queued(16)), .floor(number: 3, .granted(turn: 1 << 40)),
    .floor(number: 3, .ended), .floor(number: 3, .preempted), .told(number: 5, state: 4),
    .challenge(.max), .response(0), .register(.voip, .production, token: [1]),
    .register(.pushToTalk, .sandbox, token: [UInt8](repeating: 7, count: PhoneToken.limit)),
    .registered(.alert, .sandbox, taken: true), .state(foreground: true, allowed: .critical),
    .callEnded(Sample.burst),
  ]

  @Test func everyMessageComesBackAsItWas() {
    for message in Self.samples {
      #expect(LegMessage(kind: message.kind, message.body) == message)
    }
    let body = AttachBody(
      ticket: [UInt8](0..<32), channel: Bytes16(high: 1, low: 2), lastBurst: Sample.burst,
      lastFrame: 77, isForeground: true,
      request: PhoneRequest(number: 9, floorClass: .imminentPeril), allowed: .timeSensitive)
    #expect(AttachBody(body.payload) == body)
    #expect(body.payload.count == AttachDatagrams.attachPayload)
  }

  @Test func aBodyOfAnotherSizeIsNone() {
    for message in Self.samples {
      let body = message.body
      for count in 0..<body.count {
        if let read = LegMessage(kind: message.kind, Array(body[..<count])) {
          // Of a token, and of nothing else, a part is another one.
          guard case .register = read else {
            Issue.record("\(message) cut to \(count) bytes was read as \(read)")
            continue
          }
        }
      }
      if case .register(_, _, let token) = message, token.count < PhoneToken.limit { continue }
      #expect(LegMessage(kind: message.kind, body + [0]) == nil)
    }
  }

  @Test func randomBodiesNeverTrapAndWhatIsReadIsWrittenTheSame() {
    var generator = SeededGenerator(seed: 21)
    var read = 0
    for _ in 0..<200_000 {
      let kind = UInt8(0x40 + generator.next() % 0x11)
      let count = Int(generator.next() % 64)
      let body = (0..<count).map { _ in
        UInt8(truncatingIfNeeded: generator.next() % 3 == 0 ? generator.next() : 0)
      }
      guard let message = LegMessage(kind: kind, body) else { continue }
      read += 1
      if message.body != body { Issue.record("\(message) was read from \(body)") }
    }
    #expect(read > 1_000)
  }

  @Test func randomPayloadsOfAttachNeverTrap() {
    var generator = SeededGenerator(seed: 22)
    for _ in 0..<20_000 {
      let count = Int(generator.next() % 160)
      let bytes = (0..<count).map { _ in
        UInt8(truncatingIfNeeded: generator.next() % 4 == 0 ? generator.next() : 0)
      }
      if let body = AttachBody(bytes) { #expect(Array(body.payload[..<75]) == Array(bytes[..<75])) }
      if let body = AttachedBody(bytes) {
        #expect(body.payload == bytes)
        _ = body.each { _, _ in }
      }
      _ = AttachDatagrams.read(attached: bytes)
    }
  }

  @Test func mutatedDatagramsLeaveNoTrace() {
    let bench = LegBench()
    let phone = bench.addPhone()
    phone.attach()
    let attach = phone.outbox.removeFirst()
    var generator = SeededGenerator(seed: 23)
    for _ in 0..<300 {
      var copy = attach
      copy[Int(generator.next() % UInt64(copy.count))] ^= UInt8(1 + generator.next() % 255)
      bench.hand(copy, from: phone.endpoint)
    }
    #expect(bench.events.isEmpty && bench.sent.isEmpty && bench.legs.pending.isEmpty)
    bench.hand(attach, from: phone.endpoint)
    bench.run(.milliseconds(100))
    #expect(phone.isAttached)
    let (events, sent) = (bench.events.count, bench.sent.count)
    phone.outbox = []
    phone.say(.sleep)
    let sleep = phone.outbox.removeFirst()
    for _ in 0..<2_000 {
      var copy = sleep
      let change = generator.next() % 3
      if change == 0 {
        copy.removeLast(Int(generator.next() % UInt64(copy.count)))
      } else if change == 1 {
        copy += [UInt8](repeating: 1, count: Int(generator.next() % 1_300 + 1))
      } else {
        copy[Int(generator.next() % UInt64(copy.count))] ^= UInt8(1 + generator.next() % 255)
      }
      if copy != sleep { bench.hand(copy, from: phone.endpoint) }
    }
    #expect(bench.events.count == events && bench.sent.count == sent)
    bench.hand(sleep, from: phone.endpoint)
    bench.hand(sleep, from: phone.endpoint)
    #expect(bench.events.last == .detached(Sample.device(1), .slept))
  }

  @Test func anAuthenticPhoneThatSendsNonsenseHarmsNobody() {
    let bench = LegBench()
    let phone = bench.addPhone()
    let other = bench.addPhone()
    for one in [phone, other] { one.attach() }
    bench.run(.milliseconds(100))
    bench.begin(1)
    var generator = SeededGenerator(seed: 24)
    for round in 0..<300 {
      for _ in 0..<10 {
        let message = Self.samples[Int(generator.next() % UInt64(Self.samples.count))]
        switch message {
        case .sleep, .leave: continue
        case .received:
          phone.say(
            .received(
              bench.id(1), next: UInt32(truncatingIfNeeded: generator.next() % 400),
              bits: generator.next(), knowsEnd: generator.next() % 2 == 0))
        default: phone.say(message)
        }
      }
      bench.frames(1, round..<round + 1, live: true)
    }
    bench.end(1, lastFrame: 299)
    bench.run(.seconds(2))
    #expect(other.heard[bench.id(1)]?.frames.count == 300)
    // Asking again and again earns no more than the pace allows.
    let share = Double(bench.sentTo[phone.endpoint] ?? 0)
    #expect(share < Double(bench.sentTo[other.endpoint] ?? 0) * 12)
  }

  @Test func thereAreOnlySoManyLegs() {
    let bench = LegBench()
    for _ in 0..<3 { _ = bench.addPhone() }
    bench.legs.legs = OrderedTable(limit: 2)
    for phone in bench.phones { phone.attach() }
    bench.run(.milliseconds(100))
    #expect(bench.phones.map(\.status) == [.attached, .attached, .busy])
  }

  @Test func numbersThatNoBurstHasHarmNobody() {
    let lastFrames: [UInt32] = [.max - 1, .max, 1 << 31, UInt32(KeptBurst.frameLimit), 0]
    for lastFrame in lastFrames {
      let bench = LegBench()
      let phone = bench.addPhone()
      bench.begin(1)
      bench.frames(1, 0..<30)
      phone.attach(lastBurst: bench.id(1), lastFrame: lastFrame)
      bench.run(.milliseconds(100), reporting: false)
      for next in [.max, .max - 15, .max - 1, 1 << 31, 29, 0] as [UInt32] {
        for bits in [.max, 1 << 63, 0, 0xaaaa] as [UInt64] {
          phone.say(.received(bench.id(1), next: next, bits: bits, knowsEnd: false))
          bench.run(.milliseconds(130), reporting: false)
        }
      }
      bench.end(1, lastFrame: .max)
      bench.frames(1, 30..<31)
      bench.run(.seconds(10), reporting: false)
      #expect(phone.heard[bench.id(1)]?.isOver == true)
    }
  }

  /// Bursts, losses, presses, moves and removals at random: the bench traps when the machine wants
  /// to be woken without end, and every phone that is there at last hears the last burst whole.
  @Test func randomLivesEndWell() {
    for seed in 1...40 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      func below(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }
      let bench = LegBench()
      for _ in 0..<3 { bench.addPhone().attach() }
      bench.run(.milliseconds(100))
      var burst = 0
      for step in 0..<60 {
        let number = below(3)
        let phone = bench.phones[number]
        let request = PhoneRequest(number: UInt32(step), floorClass: .normal)
        switch below(9) {
        case 0, 1:
          if burst > 0 { bench.end(burst, lastFrame: UInt32(below(40))) }
          burst += 1
          bench.begin(burst)
        case 2: bench.loss = Double(below(4)) / 10
        case 3: phone.say(.request(request))
        case 4: bench.tell(number + 1, UInt32(max(0, step - 1)), .granted(turn: UInt64(step)))
        case 5: bench.tell(number + 1, UInt32(max(0, step - 2)), .preempted)
        case 6: phone.endpoint.port += 1
        case 7: phone.acknowledges.toggle()
        default: _ = bench.bursts.take(bench.id(below(burst + 1)))
        }
        if burst > 0 { bench.frames(burst, 0..<below(40)) }
        bench.run(.milliseconds(below(600)))
        _ = bench.bursts.wake(now: bench.now)
      }
      bench.loss = 0
      if burst > 0 { bench.end(burst, lastFrame: 3) }
      for phone in bench.phones { phone.acknowledges = true }
      bench.run(.seconds(5))
      for phone in bench.phones { phone.say(.keepalive) }
      bench.begin(burst + 1)
      bench.frames(burst + 1, 0..<30, live: true)
      bench.end(burst + 1, lastFrame: 29)
      bench.run(.seconds(8))
      for (index, phone) in bench.phones.enumerated()
      where bench.legs.isAttached(Sample.device(index + 1)) {
        let heard = phone.heard[bench.id(burst + 1)]
        #expect(heard?.frames.count == 30 && heard?.isOver == true, "seed \(seed)")
      }
    }
  }
}
