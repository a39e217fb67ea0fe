import TalkCore

/// How loud some sound is, in decibels below full scale (0 is a full-scale square wave).
package struct SoundLevel: Hashable, Sendable {
  /// The largest sample.
  package var peak: Double
  /// The mean power.
  package var rms: Double

  /// What silence counts as, and the least that is ever reported.
  package static let floor = -96.0
  /// No sound at all.
  package static let silence = SoundLevel(peak: floor, rms: floor)

  /// Makes a level of its parts.
  package init(peak: Double, rms: Double) {
    self.peak = peak
    self.rms = rms
  }
}

/// Measures levels for a person's eye: a microphone that hears nothing, a voice that is too loud.
package enum LevelMeter {
  /// The level of `samples`; silence for none.
  package static func measure(_ samples: UnsafeBufferPointer<Int16>) -> SoundLevel {
    guard samples.count > 0 else { return .silence }
    var peak: Int32 = 0
    for index in 0..<samples.count { peak = max(peak, abs(Int32(unsafe samples[index]))) }
    return unsafe SoundLevel(peak: decibels(Double(peak)), rms: decibels(power(samples)))
  }

  /// The root of the mean square of `samples`, 0 to 32,768; 0 for none.
  static func power(_ samples: UnsafeBufferPointer<Int16>) -> Double {
    guard samples.count > 0 else { return 0 }
    var sum: Int64 = 0
    for index in 0..<samples.count {
      let sample = Int64(unsafe samples[index])
      sum += sample * sample
    }
    return (Double(sum) / Double(samples.count)).squareRoot()
  }

  private static func decibels(_ amplitude: Double) -> Double {
    guard amplitude > 0 else { return SoundLevel.floor }
    return max(SoundLevel.floor, 20 * Platform.decimalLogarithm(amplitude / 32_768))
  }
}
