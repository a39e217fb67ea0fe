import TalkCore

/// Plays tones into the sound that goes to the speaker. All tones are made at the start; playing
/// one allocates nothing.
///
/// A tone that is played while another sounds takes its place: the newest news counts.
@safe package final class TonePlayer {
  /// The loudest sample of a tone: 12 dB below full scale.
  private static let amplitude = 8_192.0
  /// How long each note swells and dies away, in samples: 5 ms.
  private static let ramp = 240

  private let samples: UnsafeMutableBufferPointer<Int16>
  private let ranges: [Range<Int>]
  private var playing = 0..<0

  /// Makes every tone.
  package init() {
    var ranges: [Range<Int>] = []
    var sound: [Int16] = []
    for tone in Tone.allCases {
      let start = sound.count
      for note in tone.notes { Self.append(note.hertz, note.milliseconds, to: &sound) }
      ranges.append(start..<sound.count)
    }
    self.ranges = ranges
    unsafe samples = .allocate(capacity: sound.count)
    _ = unsafe samples.initialize(from: sound)
  }

  deinit { unsafe samples.deallocate() }

  private static func append(_ hertz: Double, _ milliseconds: Int, to sound: inout [Int16]) {
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
