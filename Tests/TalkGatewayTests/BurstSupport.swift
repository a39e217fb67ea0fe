import TalkCore
import TalkVoice
import TalkWire

@testable import TalkGateway

/// Bursts with content that tests can tell apart.
enum BurstSample {
  static func token(_ number: Int) -> TokenID {
    TokenID(turn: UInt64(number), holder: WakeBench.mesh.peer, seat: 0)
  }

  static func id(_ number: Int) -> BurstID { BurstID(of: token(number), on: Sample.channel) }

  /// A frame of the usual size whose bytes say which one it is.
  static func frame(_ number: Int, of burst: Int = 1, size: Int = 60) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: number &* 7 &+ burst &* 31 &+ $0) }
  }

  /// Opus of `samples`, 20 ms a frame.
  static func encode(_ samples: [Int16]) throws -> [[UInt8]] {
    let encoder = try VoiceEncoder()
    return stride(from: 0, to: samples.count - 959, by: 960).compactMap { start in
      var target = [UInt8](repeating: 0, count: 60)
      let size = samples[start..<start + 960].withUnsafeBufferPointer { pcm in
        target.withUnsafeMutableBytes { encoder.encode(pcm: pcm, into: $0) }
      }
      return size == 60 ? target : nil
    }
  }

  /// A voice-like tone in which `quiet` (in milliseconds) are pauses.
  static func sound(milliseconds: Int, quiet: [Range<Int>] = []) -> [Int16] {
    (0..<milliseconds * 48).map { index in
      let time = Double(index) / 48_000
      if quiet.contains(where: { $0.contains(index / 48) }) { return Int16(index % 3) }
      let wave = Platform.sine(2 * .pi * 180 * time) + 0.5 * Platform.sine(2 * .pi * 720 * time)
      return Int16(wave * 8_000)
    }
  }
}

extension BurstBuffer {
  @discardableResult
  mutating func begin(_ number: Int, now: Instant) -> Bool {
    begin(
      BurstSample.id(number), channel: Sample.channel, token: BurstSample.token(number),
      floorClass: .normal, name: "Ann", now: now)
  }

  @discardableResult
  mutating func insert(
    _ number: Int, frame: Int, bytes: [UInt8]? = nil,
    length: FrameLength = .twentyMilliseconds, now: Instant
  ) -> Bool {
    let bytes = bytes ?? BurstSample.frame(frame, of: number)
    return bytes.withUnsafeBytes {
      insert(BurstSample.id(number), UInt32(frame), length, $0, now: now)
    }
  }
}
