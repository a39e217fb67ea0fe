import Foundation
import TalkCore
import Testing

@testable import TalkGateway

@Suite struct WakeNoticeTests {
  private func missed(
    _ bench: inout WakeBench, _ numbers: [Int], clip: Duration?
  ) -> [WakeEffect] {
    for number in numbers {
      _ = bench.grant(number)
      bench.end(number)
    }
    #expect(bench.run(.seconds(30)).map(\.effect.word) == numbers.map { _ in "clip" })
    for number in numbers {
      bench.policy.clipReady(WakeBench.burst(number), duration: clip, at: bench.time)
    }
    return bench.policy.takeEffects()
  }

  @Test(arguments: InterruptionLevel.allCases)
  func theLevelIsTheChannelsLoweredToWhatThePhoneAllows(_ allowed: InterruptionLevel) {
    var bench = WakeBench(phones: 1, allowed: allowed)
    guard case .alert(let alert)? = missed(&bench, [1], clip: .seconds(2)).first else {
      Issue.record("no alert")
      return
    }
    #expect(alert.level == min(.timeSensitive, allowed))
    #expect(alert.clip == .seconds(2) && alert.order.kind == .missedVoice)
    #expect(alert.order.priority == (allowed == .passive ? .considerate : .immediate))
  }

  @Test func clipsAreSpacedByTheirLength() {
    var bench = WakeBench(phones: 1)
    #expect(missed(&bench, [1, 2, 3], clip: .seconds(6)).map(\.word) == ["alert 1"])
    let later = bench.run(.seconds(60))
    #expect(later.map(\.effect.word) == ["alert 1", "alert 1"])
    #expect(later.map(\.after) == [.seconds(6), .seconds(12)])
    #expect(later.map { $0.effect.order?.burst } == [WakeBench.burst(2), WakeBench.burst(3)])
  }

  @Test func withoutAClipTheAlertComesAllTheSame() {
    var bench = WakeBench(phones: 1)
    guard case .alert(let alert)? = missed(&bench, [1], clip: nil).first else {
      Issue.record("no alert")
      return
    }
    #expect(alert.clip == nil)
    bench.policy.clipReady(WakeBench.burst(1), duration: nil, at: bench.time)
    #expect(bench.policy.takeEffects().isEmpty, "told twice, said once")
  }

  @Test func whoCameOrCouldNotBeToldByUsIsNotAlerted() {
    var bench = WakeBench(phones: 4)
    _ = bench.grant(1)
    let burst = WakeBench.burst(1)
    bench.policy.attached(Sample.device(1), foreground: false, at: bench.time)
    bench.policy.sent(Sample.device(2), burst)
    bench.policy.claimed(Sample.device(3), burst, .lost(sent: true), now: bench.time.now)
    bench.policy.claimed(Sample.device(4), burst, .noToken, now: bench.time.now)
    bench.end(1)
    #expect(bench.run(.seconds(31)).map(\.effect.word) == ["clip"])
    bench.policy.clipReady(burst, duration: .seconds(1), at: bench.time)
    // The fourth has no token to talk, but may have one for alerts.
    #expect(bench.policy.takeEffects().map(\.word) == ["alert 2", "alert 4"])
  }

  @Test func serviceUpdatesComeOneAtATimeAndUrgentlyOnlyWithinTheBudget() {
    var bench = WakeBench(phones: 2)
    bench.policy.attached(Sample.device(2), foreground: false, at: bench.time)
    var seen: [(Duration, Push.Priority)] = []
    let start = bench.time.now
    for _ in 0..<590 {
      bench.policy.serviceChanged(Sample.channel, at: bench.time)
      for effect in bench.policy.takeEffects() + bench.run(.seconds(1)).map(\.effect) {
        #expect(effect.word == "serviceUpdate 1")
        if let order = effect.order { seen.append((bench.time.now - start, order.priority)) }
      }
    }
    #expect(seen.count == 20, "one in 30 s, though the channel changed every second")
    #expect(seen.filter { $0.1 == .immediate }.count == WakeLimits.urgentUpdatesAnHour)
    #expect(seen.prefix(6).allSatisfy { $0.1 == .immediate })
    // An hour later the budget is whole again.
    _ = bench.run(.seconds(3_600))
    bench.policy.serviceChanged(Sample.channel, at: bench.time)
    #expect(bench.policy.takeEffects().first?.order?.priority == .immediate)
  }

  @Test func theLastOfSeveralChangesIsToldOnceThePhoneMayBeTold() {
    var bench = WakeBench(phones: 1)
    bench.policy.serviceChanged(Sample.channel, at: bench.time)
    #expect(bench.policy.takeEffects().count == 1)
    bench.policy.serviceChanged(Sample.channel, at: bench.time)
    bench.policy.serviceChanged(Sample.channel, at: bench.time)
    #expect(bench.policy.takeEffects().isEmpty)
    let later = bench.run(.seconds(200))
    #expect(later.map(\.after) == [.seconds(30)])
  }

  @Test func aCallRingsOnceAndIsEndedWithoutAPush() {
    var bench = WakeBench(phones: 1)
    let call = BurstID(Bytes16(high: 0xca, low: 1))
    let taken = (0..<2).map { _ in
      bench.policy.call(call, to: Sample.device(1), by: WakeBench.mesh, at: bench.time)
    }
    #expect(taken == [true, false])
    #expect(bench.policy.takeEffects().map(\.word) == ["call 1"])
    bench.policy.endCall(call)
    bench.policy.endCall(call)
    #expect(bench.policy.takeEffects() == [.cancel(Sample.device(1), call)])
    #expect(bench.run(.seconds(100)).isEmpty)
    let stranger = bench.policy.call(
      call, to: Sample.device(9), by: WakeBench.mesh, at: bench.time)
    #expect(!stranger)
  }

  @Test func aCallThatNobodyAnswersEndsByItself() {
    var bench = WakeBench(phones: 1)
    let call = BurstID(Bytes16(high: 0xca, low: 1))
    bench.policy.call(call, to: Sample.device(1), by: WakeBench.mesh, at: bench.time)
    _ = bench.policy.takeEffects()
    let later = bench.run(.seconds(100))
    #expect(later.map(\.effect.word) == ["cancel 1"] && later.first?.after == WakeLimits.ringing)
  }

  @Test func tooManyCallsAreRefused() {
    var bench = WakeBench(phones: 1)
    for number in 0...WakeLimits.calls {
      let call = BurstID(Bytes16(high: 0xca, low: UInt64(number)))
      let taken = bench.policy.call(
        call, to: Sample.device(1), by: WakeBench.mesh, at: bench.time)
      #expect(taken == (number < WakeLimits.calls))
    }
  }
}

@Suite struct PushPayloadTests {
  private let payload = PushPayload(channel: Sample.channelRow, gateway: Sample.gateway)

  private func read(_ bytes: [UInt8]?) throws -> [String: Any] {
    let data = Data(try #require(bytes))
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  private func order(_ kind: Push.Kind) -> WakeOrder {
    WakeOrder(
      device: Sample.device(1), channel: Sample.channel, kind: kind, burst: Sample.burst,
      speaker: WakeBench.mesh, stamp: 1_234, priority: .immediate, began: .zero, notAfter: .zero)
  }

  @Test func aSpeakPushSaysAllThatThePhoneNeeds() throws {
    let json = try read(payload.json(of: order(.speak), name: "Ann"))
    #expect(json["v"] as? Int == 1 && json["at"] as? Int == 1_234)
    #expect(json["channel"] as? String == ChannelID(Sample.channelRow.uuid).description)
    #expect(json["activeSpeaker"] as? String == "Ann")
    #expect(json["burst"] as? String == Sample.burst.description)
    #expect(json["gw"] as? String == Sample.gateway.description)
    #expect((json["aps"] as? [String: Any])?.isEmpty == true)
  }

  @Test func aNameStaysOffApplesWireUnlessTheChannelAllowsIt() throws {
    var secret = payload
    secret.channel.showsNames = false
    for kind in [Push.Kind.speak, .call] {
      let bytes = try #require(secret.json(of: order(kind), name: "Ann"))
      #expect(!String(decoding: bytes, as: UTF8.self).contains("Ann"))
    }
    let json = try read(secret.json(of: order(.speak), name: "Ann"))
    #expect(json["activeSpeaker"] as? String == "00000000-0")
  }

  @Test func leaveHasNoSpeakerAndServiceUpdateIsMarked() throws {
    #expect(try read(payload.json(of: order(.leave), name: nil))["activeSpeaker"] == nil)
    let update = try read(payload.json(of: order(.serviceUpdate), name: nil))
    #expect((update["aps"] as? [String: Any])?["ptt-push-type"] as? String == "service-update")
  }

  @Test func anAlertHasABodyALevelAndItsClip() throws {
    for level in InterruptionLevel.allCases {
      let alert = AlertOrder(order: order(.missedVoice), level: level, clip: .seconds(6))
      let clip = ClipReference(
        burst: Sample.burst, sha256: [0, 0xab], duration: .milliseconds(5_980), size: 574_124)
      let json = try read(payload.json(of: alert, name: "Ann", clip: clip))
      let aps = try #require(json["aps"] as? [String: Any])
      #expect((aps["alert"] as? [String: Any])?["body"] as? String == "Ann spoke")
      #expect(aps["interruption-level"] as? String == level.word)
      #expect(aps["mutable-content"] as? Int == 1)
      #expect((aps["sound"] == nil) == (level == .passive))
      let told = try #require(json["clip"] as? [String: Any])
      #expect(told["sha256"] as? String == "00ab" && told["ms"] as? Int == 5_980)
      #expect(told["bytes"] as? Int == 574_124)
    }
  }

  @Test func hostileNamesNeitherBreakTheJSONNorItsLimit() throws {
    let names = [
      "\u{0}\u{1b}[2J\"\\\u{202e}", String(repeating: "\"", count: 10_000),
      String(repeating: "👩‍👩‍👧‍👦", count: 1_000), String(repeating: "\u{301}", count: 5_000),
    ]
    for name in names {
      for kind in [Push.Kind.speak, .call] {
        let bytes = try #require(payload.json(of: order(kind), name: name))
        #expect(bytes.count < 600)
        _ = try read(bytes)
      }
    }
  }

  @Test func stalePushesAndReorderedOnesChangeNothing() {
    var filter = WakeFilter()
    // Leave was sent after speak, and came first; then a copy; then one by another clock.
    let wakes: [(UInt64, PeerID)] = [
      (20, Sample.gateway), (19, Sample.gateway), (20, Sample.gateway), (5, Sample.otherGateway),
      (21, Sample.gateway),
    ]
    let taken = wakes.map { filter.accepts(stamp: $0.0, from: $0.1) }
    #expect(taken == [true, false, false, true, true])
  }

  @Test func aFloodOfGatewaysIsBounded() {
    var filter = WakeFilter()
    let gateways = (0...WakeFilter.gateways).map { PeerID(Bytes16(high: 0, low: UInt64($0))) }
    let taken = gateways.map { filter.accepts(stamp: 1, from: $0) }
    #expect(taken == gateways.indices.map { $0 < WakeFilter.gateways })
    let known = filter.accepts(stamp: 2, from: gateways[0])
    #expect(known)
  }
}
