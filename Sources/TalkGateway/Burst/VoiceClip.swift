import TalkCore
import TalkCrypto
package import TalkVoice
import TalkWire

/// The first words of a burst as a WAV file that a phone may sound: at most 6 s, cut at a pause.
package struct VoiceClip: Sendable {
  /// The most that iOS plays of a notification's sound is 30 s; clips of an intercom stay short.
  package static let limit = Duration.seconds(6)
  /// A cut is looked for from here on.
  static let least = Duration.seconds(2)

  /// The whole file: RIFF, one channel, 48 kHz, 16 bits.
  package let wave: [UInt8]
  /// What a push says of it.
  package let reference: ClipReference

  /// Decodes and cuts a burst; nil when no frame of it came. Takes some milliseconds a second of
  /// sound: for a worker. Throws only when libopus is broken.
  package static func make(of burst: KeptBurst) throws(VoiceError) -> VoiceClip? {
    guard burst.frameCount > 0 else { return nil }
    let rate = VoiceFormat.sampleRate
    let most = Int(limit.components.seconds) * rate
    var samples = try decode(burst, most: most)
    if burst.duration > limit { samples.removeSubrange(cut(samples)...) }
    fadeOut(&samples)
    let wave = WaveFile.bytes(samples, rate: rate)
    return VoiceClip(
      wave: wave,
      reference: ClipReference(
        burst: burst.id, sha256: SHA256.hash(wave),
        duration: .nanoseconds(Int64(samples.count) * 1_000_000_000 / Int64(rate)),
        size: wave.count))
  }

  /// The first `most` samples; what did not come is concealed for 100 ms, then silent.
  private static func decode(_ burst: KeptBurst, most: Int) throws(VoiceError) -> [Int16] {
    let decoder = try VoiceDecoder()
    let size = burst.frameLength.samples
    let concealable = 4_800 / size
    var missing = 0
    var samples: [Int16] = []
    samples.reserveCapacity(most)
    var piece = [Int16](repeating: 0, count: size)
    for number in 0..<min(burst.frameCount, UInt32(most / size)) {
      unsafe piece.withUnsafeMutableBufferPointer { target in
        if let frame = burst.frame(number) {
          missing = 0
          _ = unsafe frame.withUnsafeBytes { unsafe decoder.decode($0, into: target) }
        } else if missing < concealable {
          missing += 1
          unsafe decoder.conceal(into: target)
        } else {
          unsafe target.update(repeating: 0)
        }
      }
      samples += piece
    }
    return samples
  }

  /// Where to cut: in the last pause of 120 ms or more behind `least`; where it is quietest in the
  /// last third when nobody drew breath.
  static func cut(_ samples: [Int16]) -> Int {
    let block = 960
    let levels = stride(from: 0, to: samples.count - block + 1, by: block).map { start in
      unsafe samples[start..<start + block].withUnsafeBufferPointer {
        unsafe LevelMeter.measure($0).rms
      }
    }
    guard !levels.isEmpty else { return samples.count }
    // Speech is what the loudest tenth is at least; 20 dB below it nobody says anything.
    let loud = levels.sorted()[levels.count * 9 / 10]
    let first = Int(least.milliseconds) / 20
    var run = 0
    var best: Int?
    for (index, level) in levels.enumerated() {
      run = level < loud - 20 ? run + 1 : 0
      if run >= 6, index >= first { best = index - run / 2 }
    }
    if let best { return (best + 1) * block }
    let tail = levels.indices.suffix(levels.count / 3)
    let quietest = tail.min { levels[$0] < levels[$1] } ?? levels.count - 1
    return quietest * block + block / 2
  }

  /// 10 ms down to silence, so that the cut does not click.
  private static func fadeOut(_ samples: inout [Int16]) {
    let length = min(480, samples.count)
    for step in 0..<length {
      let index = samples.count - 1 - step
      samples[index] = Int16(Int(samples[index]) * step / length)
    }
  }
}

/// A WAV file's bytes: RIFF with a `fmt ` and a `data` chunk (Multimedia Programming Interface and
/// Data Specifications 1.0, 1991).
enum WaveFile {
  static let headerSize = 44

  static func bytes(_ samples: [Int16], rate: Int) -> [UInt8] {
    let size = samples.count * 2
    var result = [UInt8](repeating: 0, count: headerSize + size)
    var span = result.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    writer.bytes(Array("RIFF".utf8))
    writer.u32(UInt32(headerSize - 8 + size))
    writer.bytes(Array("WAVEfmt ".utf8))
    writer.u32(16)
    writer.u16(1)
    writer.u16(1)
    writer.u32(UInt32(rate))
    writer.u32(UInt32(rate * 2))
    writer.u16(2)
    writer.u16(16)
    writer.bytes(Array("data".utf8))
    writer.u32(UInt32(size))
    for sample in samples { writer.u16(UInt16(bitPattern: sample)) }
    return result
  }
}
