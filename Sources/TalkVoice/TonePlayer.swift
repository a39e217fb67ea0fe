import TalkCore

/// Plays tones into the sound that goes to the speaker. All tones are made at the start; playing
/// one allocates nothing.
///
/// A tone that is played while another sounds takes its place: the newest news counts.
@safe package final class TonePlayer {
  /// The loudest sample of a tone at gain 1: 12 dB below full scale.
  private static let amplitude = 8_192.0
  /// How long each note swells and dies away, in samples: 5 ms.
  private static let ramp = 240

  private let samples: UnsafeMutableBufferPointer<Int16>
  private let ranges: [Range<Int>]
  private var playing = 0..<0

  /// The most that a tone may be louder than 12 dB below full scale: 12 dB.
  package static let gainLimit = 3.98

  /// Makes every tone, `gain` times as loud as 12 dB below full scale: 0 is silence, what exceeds
  /// `gainLimit` counts as that.
  package init(gain: Double = 1) {
    let amplitude = Self.amplitude * min(max(gain, 0), Self.gainLimit)
    var ranges: [Range<Int>] = []
    var sound: [Int16] = []
    for tone in Tone.allCases {
      let start = sound.count
      for note in tone.notes {
        Self.append(note.hertz, note.milliseconds, amplitude, to: &sound)
      }
      ranges.append(start..<sound.count)
    }
    self.ranges = ranges
    unsafe samples = .allocate(capacity: sound.count)
    _ = unsafe samples.initialize(from: sound)
  }

  deinit { unsafe samples.deallocate() }

  private static func append(
    _ hertz: Double, _ milliseconds: Int, _ amplitude: Double, to sound: inout [Int16]
  ) {
    let count = milliseconds * VoiceFormat.sampleRate / 1_000
    for index in 0..<count {
      let phase = 2 * Double.pi * hertz * Double(index) / Double(VoiceFormat.sampleRate)
      let edge = min(1, Double(min(index, count - 1 - index)) / Double(ramp))
      let swell = (1 - Platform.cosine(Double.pi * edge)) / 2
      sound.append(Int16(amplitude * swell * Platform.sine(phase)))
    }
  }

  /// Starts `tone` with the next sample that is mixed.
  package func play(_ tone: Tone) { playing = ranges[tone.rawValue] }

  /// Stops what sounds.
  package func stop() { playing = 0..<0 }

  /// True while a tone has samples left.
  package var isPlaying: Bool { !playing.isEmpty }

  /// How long `tone` lasts.
  package func duration(of tone: Tone) -> Duration {
    .nanoseconds(VoiceFormat.nanoseconds(samples: ranges[tone.rawValue].count))
  }

  /// Adds the next samples of the tone that sounds, if any, to `target`.
  package func mix(into target: UnsafeMutableBufferPointer<Int16>) {
    guard isPlaying else { return }
    let part = playing.prefix(target.count)
    unsafe Mix.add(UnsafeBufferPointer(rebasing: samples[part]), into: target)
    playing = part.endIndex..<playing.endIndex
  }
}
