import TalkCore
import TalkGateway
import Testing

/// The decisions alone, on a made-up clock.
@Suite struct ProviderMachineTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  private func keeper(age: Int64 = 0) -> ProviderTokenKeeper {
    var keeper = ProviderTokenKeeper()
    keeper.restore(
      ProviderToken(issuedAt: 1_000_000, text: "a.b.c"), at: start, unix: UInt64(1_000_000 + age))
    return keeper
  }

  private func push(_ number: UInt64, life: Duration = .seconds(10)) -> Push {
    Push(
      kind: .speak, token: [1, 2, 3], environment: .production,
      id: Bytes16(high: 0, low: number), payload: Array("{}".utf8), began: start,
      notAfter: start + life)
  }

  private func tickets(_ lane: inout PushLane) -> [(connection: Int, ticket: LaneTicket)] {
    defer { lane.effects = [] }
    return lane.effects.compactMap {
      if case .send(let connection, let ticket) = $0 { (connection, ticket) } else { nil }
    }
  }

  private func outcomes(_ lane: inout PushLane) -> [PushOutcome] {
    defer { lane.effects = [] }
    return lane.effects.compactMap {
      if case .report(_, _, let outcome) = $0 { outcome } else { nil }
    }
  }

  /// A lane with one open connection that has carried an answer.
  private func warmLane(streams: Int = 1_000) -> PushLane {
    var lane = PushLane(environment: .production, hasOther: false, streams: streams)
    var keeper = keeper()
    lane.due(at: start, keeper: keeper)
    lane.effects = []
    lane.opened(0, at: start)
    lane.allowed(streams, on: 0)
    lane.submit(push(99), caller: 0, at: start, keeper: keeper)
    lane.pump(at: start, keeper: keeper)
    for (_, ticket) in tickets(&lane) {
      lane.answered(
        ticket, ProviderAnswer(status: 200), at: start, unix: 1_000_000, keeper: &keeper)
    }
    lane.effects = []
    return lane
  }

  @Test func `One stream until a request passed, then as many as the server allows`() {
    var lane = PushLane(environment: .production, hasOther: false)
    var keeper = keeper()
    lane.due(at: start, keeper: keeper)
    #expect(lane.effects == [.open(connection: 0)])
    lane.effects = []
    lane.opened(0, at: start)
    lane.allowed(50, on: 0)
    for number in 0..<100 {
      lane.submit(push(UInt64(number)), caller: 0, at: start, keeper: keeper)
    }
    lane.pump(at: start, keeper: keeper)
    let first = tickets(&lane)
    #expect(first.count == 1)
    lane.answered(
      first[0].ticket, ProviderAnswer(status: 200), at: start, unix: 0, keeper: &keeper)
    lane.pump(at: start, keeper: keeper)
    #expect(tickets(&lane).count == 50)
    #expect(lane.waiting == 49)
  }

  @Test func `The token is renewed at 45 minutes, and never before 20`() {
    struct Case {
      let age: Int64
      let mints: Bool
      static let all = [
        Case(age: 0, mints: false), Case(age: 1_199, mints: false), Case(age: 2_699, mints: false),
        Case(age: 2_700, mints: true), Case(age: 3_599, mints: true), Case(age: 3_600, mints: true),
        Case(age: 90_000, mints: true),
      ]
    }
    for each in Case.all {
      #expect(keeper(age: each.age).mustMint(at: start) == each.mints, "\(each)")
    }
    // The clock was put back: the age is unknown, so it counts as new.
    var future = ProviderTokenKeeper()
    future.restore(ProviderToken(issuedAt: 5_000, text: "x"), at: start, unix: 1_000)
    #expect(!future.mustMint(at: start))
    let soon = future.expired(issuedAt: 5_000, at: start + .seconds(1_199))
    #expect(soon == .clock)
    let later = future.expired(issuedAt: 5_000, at: start + .seconds(1_200))
    #expect(later == .retry)
    #expect(future.mustMint(at: start + .seconds(1_200)))
  }

  @Test func `The token of a gateway that came first is taken over with its age`() {
    var keeper = keeper(age: 2_700)
    keeper.take(
      ProviderToken(issuedAt: 1_002_600, text: "other"), ours: false, at: start, unix: 1_002_700)
    #expect(keeper.current?.text == "other")
    #expect(keeper.age(at: start) == .seconds(100))
    #expect(keeper.minted == 0)
    #expect(!keeper.mustMint(at: start + .seconds(1_000)))
  }

  @Test func `Without a token that can be signed, pushes are refused and say so`() {
    var lane = warmLane()
    var keeper = ProviderTokenKeeper()
    lane.submit(push(1), caller: 0, at: start, keeper: keeper)
    lane.pump(at: start, keeper: keeper)
    #expect(lane.effects == [.mint])
    lane.effects = []
    keeper.mintFailed(at: start)
    lane.pump(at: start, keeper: keeper)
    guard case .refused(_, .providerStopped) = outcomes(&lane).first else {
      Issue.record("it was sent without a token")
      return
    }
  }

  @Test func `A server that does not answer for 3 s is left, and the push sent again elsewhere`() {
    var lane = warmLane()
    let keeper = keeper()
    lane.submit(push(1), caller: 0, at: start, keeper: keeper)
    lane.pump(at: start, keeper: keeper)
    #expect(tickets(&lane).map(\.connection) == [0])
    #expect(lane.deadline == start + .seconds(3))
    lane.due(at: start + .milliseconds(2_999), keeper: keeper)
    #expect(lane.effects.isEmpty)
    lane.due(at: start + .seconds(3), keeper: keeper)
    #expect(lane.effects.prefix(2) == [.close(connection: 0), .open(connection: 1)])
    lane.effects = []
    lane.opened(1, at: start + .seconds(3))
    lane.pump(at: start + .seconds(3), keeper: keeper)
    let again = tickets(&lane)
    #expect(again.map(\.connection) == [1])
    #expect(lane.push(again[0].ticket)?.id == push(1).id)
  }

  @Test func `An answer that comes after the push was sent again changes nothing`() {
    var lane = warmLane()
    var keeper = keeper()
    lane.submit(push(1), caller: 0, at: start, keeper: keeper)
    lane.pump(at: start, keeper: keeper)
    let late = tickets(&lane)[0].ticket
    lane.due(at: start + .seconds(3), keeper: keeper)
    lane.effects = []
    lane.answered(late, ProviderAnswer(status: 200), at: start, unix: 0, keeper: &keeper)
    #expect(lane.effects.isEmpty)
    #expect(lane.waiting == 1)
  }

  @Test func `A push is sent four times at most, and not after its time`() {
    var lane = warmLane()
    let keeper = keeper()
    var now = start
    var sends = 0
    lane.submit(push(1, life: .seconds(600)), caller: 0, at: now, keeper: keeper)
    var reported: [PushOutcome] = []
    for _ in 0..<200 where reported.isEmpty {
      lane.due(at: now, keeper: keeper)
      for effect in lane.effects {
        switch effect {
        case .send: sends += 1
        case .open(let connection): lane.opened(connection, at: now)
        case .report(_, _, let outcome): reported.append(outcome)
        default: break
        }
      }
      lane.effects = lane.effects.filter { _ in false }
      now += .seconds(1)
    }
    #expect(sends == ProviderLimits.sends)
    #expect(reported == [.expired(reason: "a request was not answered within 3 s")])

    lane.submit(push(2, life: .seconds(1)), caller: 0, at: start + .seconds(1), keeper: keeper)
    #expect(outcomes(&lane) == [.expired(reason: "it came too late to be sent")])
  }

  @Test func `Dials that fail wait ever longer, up to half a minute`() {
    var lane = PushLane(environment: .production, hasOther: false)
    let keeper = keeper()
    var now = start
    var waits: [Duration] = []
    for _ in 0..<12 {
      lane.due(at: now, keeper: keeper)
      guard case .open(let connection) = lane.effects.first else {
        Issue.record("no dial")
        return
      }
      lane.effects = []
      lane.lost(connection, reason: "refused", at: now)
      lane.effects = []
      let next = lane.deadline ?? now
      waits.append(next - now)
      now = next
    }
    #expect(waits[0] == .zero)
    #expect(waits[1] == .milliseconds(250))
    #expect(waits.last == .seconds(30))
    #expect(lane.condition(at: now) == .down("refused"))
  }

  @Test func `A failed server is asked again while the burst is young, else not`() {
    for (age, again) in [(Duration.milliseconds(1_999), true), (.seconds(2), false)] {
      var lane = warmLane()
      var keeper = keeper()
      let now = start + age
      lane.submit(push(1), caller: 0, at: now, keeper: keeper)
      lane.pump(at: now, keeper: keeper)
      let ticket = tickets(&lane)[0].ticket
      lane.answered(ticket, ProviderAnswer(status: 503), at: now, unix: 0, keeper: &keeper)
      #expect(outcomes(&lane).isEmpty == again)
      lane.pump(at: now, keeper: keeper)
      // On another connection: the one that failed is not used again for it.
      #expect(lane.effects.contains(.open(connection: 1)) == again)
    }
  }

  @Test func `The queue takes as many pushes as it says, and refuses one more`() {
    var lane = PushLane(environment: .production, hasOther: false)
    let keeper = keeper()
    for number in 0..<ProviderLimits.pushes {
      lane.submit(push(UInt64(number)), caller: 0, at: start, keeper: keeper)
    }
    #expect(lane.effects.isEmpty)
    lane.submit(push(0), caller: 0, at: start, keeper: keeper)
    #expect(
      outcomes(&lane)
        == [.refused(reason: "too many pushes wait", advice: .backOff(.seconds(1)))])
  }

  @Test func `Dates are read as servers write them, and nothing else is`() {
    #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPDate.seconds("Tue, 29 Feb 2028 23:59:60 GMT") == 1_835_481_600)
    for text in [
      "", "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 99 Nov 1994 08:49:37 GMT",
      "Sun, 06 Foo 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 -8:49:37 GMT",
    ] {
      #expect(HTTPDate.seconds(text) == nil, "\(text)")
    }
  }
}
