import TalkCore
import Testing

@testable import TalkGateway

/// Random lives of phones and bursts, with what must hold at every order. A seed repeats a run.
@Suite struct WakeRandomTests {
  /// What the test itself knows of a phone.
  private struct Phone {
    var isThere = true
    var isAttached = false
    var isForeground = false
    var wantsFloor = false
    var quietUntil = Instant.zero
  }

  private struct Life {
    var bench = WakeBench(phones: 8)
    var phones = [Phone](repeating: Phone(), count: 9)
    var generator: SeededGenerator
    var running: Int?
    var bursts = 0
    var lastStamp: UInt64 = 0
    /// Speak pushes of (phone, burst) whose claim was not lost unsent.
    var pushed: [String: Int] = [:]
    var counts: [String: Int] = [:]
    var faults: [String] = []

    mutating func below(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }

    mutating func check(_ effect: WakeEffect) {
      let now = bench.time.now
      counts[String(effect.word.prefix { $0 != " " }), default: 0] += 1
      if let order = effect.order {
        if order.stamp <= lastStamp, order.kind != .missedVoice {
          faults.append("stamp \(order.stamp) behind \(lastStamp)")
        }
        lastStamp = max(lastStamp, order.stamp)
        let number = Int(order.device.value.low)
        let phone = phones[number]
        if !phone.isThere, order.kind != .leave { faults.append("\(effect.word): removed") }
        if order.kind == .speak {
          if phone.wantsFloor { faults.append("\(effect.word): wants the floor") }
          if phone.isAttached, phone.isForeground {
            faults.append("\(effect.word): in the foreground")
          }
        }
        if order.notAfter <= now { faults.append("\(effect.word): too late to be sent") }
      }
      switch effect {
      case .push(let order) where order.kind == .speak: answer(order)
      case .makeClip(let burst):
        bench.policy.clipReady(burst, duration: .seconds(below(7)), at: bench.time)
      case .alert(let alert):
        let number = Int(alert.order.device.value.low)
        if now < phones[number].quietUntil { faults.append("\(effect.word): over another clip") }
        phones[number].quietUntil = now + (alert.clip ?? .zero)
      default: break
      }
    }

    /// The registry and Apple, as they may be.
    mutating func answer(_ order: WakeOrder) {
      let key = "\(order.device) \(order.burst)"
      pushed[key, default: 0] += 1
      if pushed[key]! > 1 { faults.append("two pushes to \(order.device.value.low)") }
      let outcomes: [ClaimOutcome] = [
        .won([]), .won([]), .lost(sent: true), .lost(sent: false), .noToken,
      ]
      let outcome = outcomes[below(outcomes.count)]
      bench.policy.claimed(order.device, order.burst, outcome, now: bench.time.now)
      if outcome == .lost(sent: false) { pushed[key] = nil }
      if outcome == .won([]), below(2) == 0 { bench.policy.sent(order.device, order.burst) }
    }

    mutating func settle() {
      var effects = bench.policy.takeEffects()
      while !effects.isEmpty {
        for effect in effects { check(effect) }
        effects = bench.policy.takeEffects()
      }
    }

    mutating func pass(_ duration: Duration) {
      let end = bench.time.now + duration
      var wakes = 0
      while let due = bench.policy.deadline, due <= end {
        bench.advance(max(.zero, due - bench.time.now))
        bench.policy.wake(at: bench.time)
        settle()
        wakes += 1
        if wakes > 1_000 {
          faults.append("wakes without end")
          return
        }
      }
      bench.advance(end - bench.time.now)
    }

    mutating func step() {
      let number = 1 + below(8)
      let device = Sample.device(number)
      switch below(11) {
      case 0, 1:
        bursts += 1
        let seat = UInt16(below(9))
        let speaker =
          seat == 0 ? WakeBench.mesh : Speaker(peer: Sample.gateway, seat: seat)
        bench.policy.granted(
          WakeBench.burst(bursts), channel: Sample.channel, speaker: speaker, at: bench.time)
        running = bursts
      case 2:
        if let running { bench.end(running) }
        running = nil
      case 3 where phones[number].isThere:
        phones[number].isAttached = true
        phones[number].isForeground = below(2) == 0
        bench.policy.attached(
          device, foreground: phones[number].isForeground, at: bench.time)
      case 4:
        phones[number].isAttached = false
        phones[number].isForeground = false
        phones[number].wantsFloor = false
        bench.policy.detached(device)
      case 5 where phones[number].isAttached:
        phones[number].wantsFloor = true
        bench.policy.asksForFloor(device)
      case 6:
        phones[number].wantsFloor = false
        // After a press a burst that was pushed before is pushed anew: it needs another sound.
        pushed = pushed.filter { !$0.key.hasPrefix("\(device)") }
        bench.policy.leftFloor(device, at: bench.time)
      case 7: bench.policy.setLocalPath(device, below(2) == 0)
      case 8: bench.policy.serviceChanged(Sample.channel, at: bench.time)
      case 9 where below(20) == 0 && phones[number].isThere:
        bench.policy.removePhone(device, at: bench.time)
        phones[number] = Phone(isThere: false)
      default: bench.time.wall -= UInt64(below(2_000))
      }
      settle()
      pass(.milliseconds(below(3) == 0 ? below(20_000) : below(400)))
    }
  }

  @Test func nothingThatMustNotHappenHappensInRandomLives() {
    var counts: [String: Int] = [:]
    for seed in 1...150 as ClosedRange<UInt64> {
      var life = Life(generator: SeededGenerator(seed: seed))
      for _ in 0..<200 where life.faults.isEmpty { life.step() }
      life.pass(.seconds(200))
      if let fault = life.faults.first { Issue.record("seed \(seed): \(fault)") }
      counts.merge(life.counts) { $0 + $1 }
    }
    // Every kind of effect was among them, or the test shows nothing.
    for word in ["local", "speak", "leave", "serviceUpdate", "alert", "clip", "cancel"] {
      #expect(counts[word, default: 0] > 20, "\(word)")
    }
  }
}
