import TalkCore

@testable import TalkGateway

/// A policy with phones, and a clock that a test turns.
struct WakeBench {
  static let mesh = Speaker(peer: PeerID(Bytes16(high: 0xa, low: 0xa)), seat: 0)

  var policy = WakePolicy(gateway: Sample.gateway)
  var time = WakeTime(now: Instant.zero + .seconds(1_000), wall: Sample.now)

  /// A policy with `phones` phones of `Sample.channel`, numbered from 1, in seats of that number.
  init(phones: Int, allowed: InterruptionLevel = .critical) {
    policy.setChannel(Sample.channel, level: .timeSensitive)
    for number in 1...phones {
      policy.setPhone(
        Sample.device(number), channel: Sample.channel, seat: UInt16(number), allowed: allowed)
    }
  }

  static func burst(_ number: Int) -> BurstID {
    BurstID(Bytes16(high: 0xb, low: UInt64(number)))
  }

  mutating func advance(_ duration: Duration) {
    time.now += duration
    time.wall += UInt64(duration.wholeNanoseconds / 1_000_000)
  }

  mutating func grant(_ number: Int, by speaker: Speaker = mesh) -> [WakeEffect] {
    policy.granted(Self.burst(number), channel: Sample.channel, speaker: speaker, at: time)
    return policy.takeEffects()
  }

  mutating func end(_ number: Int) {
    policy.ended(Self.burst(number), at: time)
  }

  /// Lets `duration` pass, waking the policy whenever it asks; what it wanted, with the times.
  mutating func run(_ duration: Duration) -> [(after: Duration, effect: WakeEffect)] {
    let start = time.now
    let end = start + duration
    var result: [(Duration, WakeEffect)] = []
    while let due = policy.deadline, due <= end {
      advance(max(.zero, due - time.now))
      policy.wake(at: time)
      result += policy.takeEffects().map { (time.now - start, $0) }
    }
    advance(end - time.now)
    return result
  }
}

extension WakeEffect {
  /// What it is, in a word, with the phone's number: for tables.
  var word: String {
    switch self {
    case .localWake(let order): "local \(order.device.value.low)"
    case .push(let order): "\(order.kind) \(order.device.value.low)"
    case .cancel(let device, _): "cancel \(device.value.low)"
    case .makeClip: "clip"
    case .alert(let alert): "alert \(alert.order.device.value.low)"
    }
  }

  var order: WakeOrder? {
    switch self {
    case .localWake(let order), .push(let order): order
    case .alert(let alert): alert.order
    case .cancel, .makeClip: nil
    }
  }
}
