import TalkCore
import TalkVoice
import TalkWire

/// One speaker, a network that delays, loses and repeats, and one listener, in virtual time.
struct Link {
  /// What the network does.
  struct Network {
    /// The least delay.
    var base = 1.0
    /// How much longer a frame may take, evenly spread.
    var jitter = 0.0
    /// Which part of the frames is lost.
    var loss = 0.0
    /// Which part comes twice.
    var duplicates = 0.0
    /// Frames from here on take so much longer; models a path that changed.
    var changeAt = Double.infinity
    var change = 0.0
    /// Frames wait for the next multiple of this; models a Wi-Fi that sends at its beacons only.
    var lump = 0.0
  }

  /// What the listener got.
  struct Outcome {
    /// Everything rendered since virtual time zero.
    var heard: [Int16] = []
    /// Delay from capture to rendering in milliseconds, each 20 ms while playing.
    var delays: [Double] = []
    /// The most sound held at once, in milliseconds.
    var mostBuffered = 0.0
    var statistics = PlayoutStatistics()
    var state = Playout.State.idle
  }

  static let token = TokenID(turn: 9, holder: PeerID(.zero), seat: 0)

  var network = Network()
  var length = FrameLength.twentyMilliseconds
  /// The frames captured before this moment leave at it, in one lump.
  var grantAt = 0.0
  var seed: UInt64 = 1
  /// Each packet carries the frame so many before it too; 0 for none.
  var copyDistance = 0

  /// Encodes `sound`, whose frames all have the one length.
  static func encode(_ sound: [Int16], _ length: FrameLength) throws -> [[UInt8]] {
    let encoder = try VoiceEncoder()
    encoder.reset()
    return stride(from: 0, to: sound.count - length.samples + 1, by: length.samples).map { start in
      var frame = [UInt8](repeating: 0, count: 300)
      let size = sound[start..<start + length.samples].withUnsafeBufferPointer { pcm in
        frame.withUnsafeMutableBytes { encoder.encode(pcm: pcm, into: $0) }
      }
      return Array(frame.prefix(size ?? 0))
    }
  }

  static func instant(_ milliseconds: Double) -> Instant {
    Instant(nanoseconds: UInt64(1_000_000_000 + milliseconds * 1_000_000))
  }

  /// Frames and when they arrive, in order of arrival.
  private func arrivals(_ count: Int) -> [(time: Double, number: Int)] {
    var random = SeededGenerator(seed: seed)
    let frame = Double(length.samples) / 48
    var result: [(time: Double, number: Int)] = []
    for number in 0..<count {
      let captured = Double(number + 1) * frame
      let sent = max(grantAt, captured)
      let copies = random.fraction() < network.duplicates ? 2 : 1
      for _ in 0..<copies {
        let lost = random.fraction() < network.loss
        var time = sent + network.base + random.fraction() * network.jitter
        if sent >= network.changeAt { time += network.change }
        if network.lump > 0 { time = (time / network.lump).rounded(.up) * network.lump }
        guard !lost else { continue }
        result.append((time, number))
        if copyDistance > 0, number >= copyDistance {
          result.append((time, number - copyDistance))
        }
      }
    }
    return result.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
  }

  /// Sends `frames`, the first captured at virtual time 0, and renders 10 ms at a time until all is
  /// quiet. The delay of a moment is told by the number that plays then.
  func run(_ frames: [[UInt8]], finish: Bool = true) throws -> Outcome {
    let playout = try Playout()
    playout.begin(Self.token, now: Self.instant(grantAt))
    var outcome = Outcome()
    var buffer = [Int16](repeating: 0, count: 480)
    var waiting = arrivals(frames.count)[...]
    let frame = Double(length.samples) / 48
    let end = Double(frames.count) * frame + network.base + network.jitter + network.lump + 2_000
    var time = 0.0
    var finished = !finish
    while time < end {
      while let next = waiting.first, next.time <= time {
        waiting.removeFirst()
        frames[next.number].withUnsafeBytes { bytes in
          _ = playout.insert(
            sequence: UInt32(next.number), frame: bytes, samplesPerFrame: length.samples,
            now: Self.instant(next.time))
        }
      }
      if waiting.isEmpty, !finished {
        playout.finish(after: UInt32(frames.count - 1))
        finished = true
      }
      buffer.withUnsafeMutableBufferPointer { playout.render(into: $0, now: Self.instant(time)) }
      outcome.heard += buffer
      let statistics = playout.statistics
      if playout.state == .playing, Int(time) % 20 == 0 {
        let quickest = network.base + (time >= network.changeAt ? network.change : 0)
        outcome.delays.append(statistics.delay.milliseconds + quickest)
      }
      outcome.mostBuffered = max(outcome.mostBuffered, statistics.buffered.milliseconds)
      time += 10
    }
    outcome.statistics = playout.statistics
    outcome.state = playout.state
    return outcome
  }
}
