import TalkCore
import Testing

@testable import TalkGateway

@Suite struct WakePolicyTests {
  /// What a phone is at the grant, and what it gets.
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var prepare: @Sendable (inout WakeBench) -> Void
    var speaker = WakeBench.mesh
    var wants: [String]

    static let phone = Sample.device(1)
    static let all = [
      Case(
        testDescription: "happy wake: a phone that sleeps is pushed", prepare: { _ in },
        wants: ["speak 1"]),
      Case(
        testDescription: "awake in the foreground: no push",
        prepare: { $0.policy.attached(phone, foreground: true, at: $0.time) }, wants: []),
      Case(
        testDescription: "awake in the background: a push, since only that opens its sound",
        prepare: { $0.policy.attached(phone, foreground: false, at: $0.time) },
        wants: ["speak 1"]),
      Case(
        testDescription: "the foreground ends with the leg",
        prepare: {
          $0.policy.attached(phone, foreground: true, at: $0.time)
          $0.policy.detached(phone)
        }, wants: ["speak 1"]),
      Case(
        testDescription: "the app went to the background",
        prepare: {
          $0.policy.attached(phone, foreground: true, at: $0.time)
          $0.policy.setForeground(phone, false)
        }, wants: ["speak 1"]),
      Case(
        testDescription: "a phone that asks for the floor is left alone",
        prepare: {
          $0.policy.attached(phone, foreground: false, at: $0.time)
          $0.policy.asksForFloor(phone)
        }, wants: []),
      Case(
        testDescription: "a phone is not woken by its own voice", prepare: { _ in },
        speaker: Speaker(peer: Sample.gateway, seat: 1), wants: []),
      Case(
        testDescription: "another phone of this gateway speaks", prepare: { _ in },
        speaker: Speaker(peer: Sample.gateway, seat: 2), wants: ["speak 1"]),
      Case(
        testDescription: "the same seat of another gateway speaks", prepare: { _ in },
        speaker: Speaker(peer: Sample.otherGateway, seat: 1), wants: ["speak 1"]),
      Case(
        testDescription: "on the local network: no Apple",
        prepare: { $0.policy.setLocalPath(phone, true) }, wants: ["local 1"]),
      Case(
        testDescription: "a phone that was removed",
        prepare: {
          $0.policy.removePhone(phone, at: $0.time)
          _ = $0.policy.takeEffects()
        }, wants: []),
    ]
  }

  @Test(arguments: Case.all) func atTheGrant(_ test: Case) {
    var bench = WakeBench(phones: 1)
    test.prepare(&bench)
    #expect(bench.grant(1, by: test.speaker).map(\.word) == test.wants)
  }

  @Test func everyBurstPushesAnew() {
    var bench = WakeBench(phones: 1)
    for number in 1...3 {
      #expect(bench.grant(number).map(\.word) == ["speak 1"])
      bench.policy.attached(Case.phone, foreground: false, at: bench.time)
      bench.end(number)
      bench.advance(.seconds(2))
    }
  }

  @Test func aGrantToldTwiceWakesOnce() {
    var bench = WakeBench(phones: 1)
    #expect(bench.grant(1).count == 1)
    #expect(bench.grant(1).isEmpty)
  }

  @Test func theOrderStandsAlone() throws {
    var bench = WakeBench(phones: 1)
    let order = try #require(bench.grant(1).first?.order)
    #expect(order.burst == WakeBench.burst(1) && order.channel == Sample.channel)
    #expect(order.speaker == WakeBench.mesh && order.stamp == Sample.now)
    #expect(order.priority == .immediate && order.began == bench.time.now)
    #expect(order.notAfter == bench.time.now + .seconds(30))
  }

  @Test func theLocalWakeComesFirstAndApplesOnlyIfThePhoneDoesNotCome() {
    var bench = WakeBench(phones: 2)
    for number in 1...2 { bench.policy.setLocalPath(Sample.device(number), true) }
    #expect(bench.grant(1).map(\.word) == ["local 1", "local 2"])
    #expect(bench.run(.milliseconds(100)).isEmpty)
    bench.policy.attached(Sample.device(1), foreground: false, at: bench.time)
    let later = bench.run(.seconds(5))
    #expect(later.map(\.effect.word) == ["speak 2"])
    #expect(later.first?.after == .milliseconds(50))
  }

  @Test func withoutInternetALocalWakeIsEnough() {
    var bench = WakeBench(phones: 1)
    bench.policy.setLocalPath(Case.phone, true)
    #expect(bench.grant(1).map(\.word) == ["local 1"])
    bench.policy.attached(Case.phone, foreground: false, at: bench.time)
    bench.end(1)
    #expect(bench.run(.seconds(100)).isEmpty)
  }

  @Test func aBurstShorterThanTheLocalWaitIsStillPushed() {
    var bench = WakeBench(phones: 1)
    bench.policy.setLocalPath(Case.phone, true)
    _ = bench.grant(1)
    bench.advance(.milliseconds(40))
    bench.end(1)
    let later = bench.run(.seconds(1))
    #expect(later.map(\.effect.word) == ["speak 1"])
    #expect(later.first?.effect.order?.notAfter == bench.policy.bursts[WakeBench.burst(1)]?.closes)
  }

  @Test func aNewerBurstReplacesAPushThatWaits() {
    var bench = WakeBench(phones: 1)
    bench.policy.setLocalPath(Case.phone, true)
    _ = bench.grant(1)
    bench.advance(.milliseconds(100))
    #expect(bench.grant(2).map(\.word) == ["local 1"])
    let later = bench.run(.seconds(1))
    #expect(later.map { $0.effect.order?.burst } == [WakeBench.burst(2)])
  }

  @Test func wakingAfterTheEndIsComingInTime() {
    var bench = WakeBench(phones: 2)
    _ = bench.grant(1)
    bench.advance(.seconds(1))
    bench.end(1)
    #expect(bench.run(.seconds(29)).isEmpty)
    bench.policy.attached(Sample.device(1), foreground: false, at: bench.time)
    #expect(bench.run(.seconds(5)).map(\.effect.word) == ["clip"])
    bench.policy.clipReady(WakeBench.burst(1), duration: .seconds(1), at: bench.time)
    #expect(bench.policy.takeEffects().map(\.word) == ["alert 2"])
  }

  @Test func aPhoneThatPressesTakesBackWhatWasOrdered() {
    var bench = WakeBench(phones: 2)
    bench.policy.setLocalPath(Sample.device(2), true)
    for number in 1...2 {
      bench.policy.attached(Sample.device(number), foreground: false, at: bench.time)
    }
    #expect(bench.grant(1).map(\.word) == ["speak 1", "local 2"])
    bench.policy.asksForFloor(Sample.device(1))
    bench.policy.asksForFloor(Sample.device(2))
    #expect(bench.policy.takeEffects().map(\.word) == ["cancel 1"])
    #expect(bench.run(.seconds(10)).isEmpty)
  }

  @Test func aPreemptedPhoneIsWokenForTheOtherOnceItsLegToldIt() {
    var bench = WakeBench(phones: 1)
    bench.policy.attached(Case.phone, foreground: false, at: bench.time)
    bench.policy.asksForFloor(Case.phone)
    #expect(bench.grant(1, by: Speaker(peer: Sample.gateway, seat: 1)).isEmpty)
    // An emergency takes the floor from it: not a word before its leg has told it.
    #expect(bench.grant(2).isEmpty)
    #expect(bench.run(.seconds(1)).isEmpty)
    bench.policy.leftFloor(Case.phone, at: bench.time)
    #expect(bench.policy.takeEffects().map(\.word) == ["speak 1"])
    // Told twice, woken once.
    bench.policy.leftFloor(Case.phone, at: bench.time)
    #expect(bench.policy.takeEffects().isEmpty)
  }

  @Test func aPhoneThatLeftTheFloorOfAnIdleChannelIsNotPushed() {
    var bench = WakeBench(phones: 1)
    bench.policy.attached(Case.phone, foreground: false, at: bench.time)
    bench.policy.asksForFloor(Case.phone)
    _ = bench.grant(1, by: Speaker(peer: Sample.gateway, seat: 1))
    bench.end(1)
    bench.policy.leftFloor(Case.phone, at: bench.time)
    #expect(bench.policy.takeEffects().isEmpty)
    #expect(bench.grant(2).map(\.word) == ["speak 1"])
  }

  @Test func ofTwoGatewaysTheOneThatLostSaysNothingMore() {
    var bench = WakeBench(phones: 1)
    _ = bench.grant(1)
    bench.policy.claimed(Case.phone, WakeBench.burst(1), .lost(sent: true), now: bench.time.now)
    bench.end(1)
    #expect(bench.run(.seconds(60)).isEmpty)
  }

  @Test func aGatewayKilledBeforeItsPushLeftIsStoodInFor() {
    var bench = WakeBench(phones: 1)
    _ = bench.grant(1)
    bench.policy.claimed(Case.phone, WakeBench.burst(1), .lost(sent: false), now: bench.time.now)
    let later = bench.run(.seconds(10))
    #expect(later.map(\.effect.word) == ["speak 1"])
    #expect(later.first?.after == .milliseconds(2_100))
    // Killed after it left: the second one carries on without a second push.
    bench.policy.claimed(Case.phone, WakeBench.burst(1), .lost(sent: true), now: bench.time.now)
    #expect(bench.run(.seconds(10)).isEmpty)
  }

  @Test func removingAPhonePushesLeaveAndTakesTheRestBack() {
    var bench = WakeBench(phones: 2)
    let speak = bench.grant(1)[0].order!
    bench.policy.removePhone(Case.phone, at: bench.time)
    let effects = bench.policy.takeEffects()
    #expect(effects.map(\.word) == ["cancel 1", "leave 1"])
    #expect(effects[1].order!.stamp > speak.stamp && effects[1].order!.speaker == nil)
    bench.end(1)
    #expect(bench.run(.seconds(60)).map(\.effect.word) == ["clip"])
    bench.policy.clipReady(WakeBench.burst(1), duration: .seconds(3), at: bench.time)
    #expect(bench.policy.takeEffects().map(\.word) == ["alert 2"])
    bench.policy.removePhone(Case.phone, at: bench.time)
    #expect(bench.policy.takeEffects().isEmpty)
  }

  @Test func twoHundredPhonesAreOrderedInOneStep() {
    var bench = WakeBench(phones: 200)
    let effects = bench.grant(1)
    #expect(effects.map(\.word) == (1...200).map { "speak \($0)" })
    let stamps = effects.compactMap { $0.order?.stamp }
    #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func stampsRiseWhenTheClockStepsBack() {
    var bench = WakeBench(phones: 1)
    var last: UInt64 = 0
    for number in 1...5 {
      bench.time.wall -= 10_000
      let stamp = bench.grant(number)[0].order!.stamp
      #expect(stamp > last)
      last = stamp
    }
  }

  @Test func aFullTableOfBurstsGivesUpTheOldestThatEnded() {
    var bench = WakeBench(phones: 1)
    for number in 1...WakeLimits.bursts + 1 {
      #expect(bench.grant(number).map(\.word) == ["speak 1"])
      bench.advance(.milliseconds(1))
    }
    #expect(bench.policy.bursts.count == WakeLimits.bursts && bench.policy.refused == 1)
    #expect(bench.policy.bursts[WakeBench.burst(1)] == nil)
    #expect(bench.policy.bursts[WakeBench.burst(2)] != nil)
  }

  /// A gateway of 100,000 phones in 32 channels: one channel's burst is that channel's business.
  @Test func aBurstCostsWhatItsOwnChannelHasInPhones() {
    func channel(_ number: Int) -> ChannelID { ChannelID(Bytes16(high: 9, low: UInt64(number))) }
    func grantTime(channels: Int) -> (load: Duration, grant: Duration) {
      var policy = WakePolicy(gateway: Sample.gateway)
      let clock = ContinuousClock()
      let start = clock.now
      for number in 0..<channels {
        policy.setChannel(channel(number), level: .active)
        for phone in 0..<3_125 {
          let device = DeviceID(Bytes16(high: UInt64(number), low: UInt64(phone)))
          policy.setPhone(
            device, channel: channel(number), seat: UInt16(phone + 1), allowed: .active)
        }
      }
      let loaded = clock.now
      var times: [Duration] = []
      for burst in 0..<5 {
        let before = clock.now
        policy.granted(
          WakeBench.burst(burst), channel: channel(0), speaker: WakeBench.mesh,
          at: WakeTime(now: .zero, wall: Sample.now))
        times.append(clock.now - before)
        #expect(policy.takeEffects().count == 3_125)
      }
      return (loaded - start, times.sorted()[2])
    }
    let (few, many) = (grantTime(channels: 1), grantTime(channels: 32))
    print(
      """
      wake policy: 100,000 phones loaded in \(many.load.milliseconds) ms; a burst for 3,125 of \
      them in \(many.grant.milliseconds) ms (with no others: \(few.grant.milliseconds) ms)
      """)
    #expect(many.grant < few.grant * 4 + .milliseconds(5))
  }
}
