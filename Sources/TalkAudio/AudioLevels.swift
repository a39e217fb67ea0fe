import CPulse
import Glibc
import TalkCore

/// How loud a microphone was for a moment.
package struct AudioLevel: Hashable, Sendable {
  /// How many samples came.
  package var samples: Int
  /// The largest sample, 0 to 32,768.
  package var peak: Int
  /// The root of the mean square, in dB below full scale; -∞ is written as -200.
  package var decibels: Double

  /// A level of its parts.
  package init(samples: Int, peak: Int, decibels: Double) {
    self.samples = samples
    self.peak = peak
    self.decibels = decibels
  }

  /// The level of `samples`.
  package init(_ samples: [Int16]) {
    var sum = 0.0
    var peak = 0
    for sample in samples {
      peak = max(peak, abs(Int(sample)))
      sum += Double(sample) * Double(sample)
    }
    let mean = samples.isEmpty ? 0 : sum / Double(samples.count)
    self.init(
      samples: samples.count, peak: peak,
      decibels: mean > 0 ? 10 * log10(mean / (32_768 * 32_768)) : -200)
  }

  /// True when there was not the least noise: no microphone that is switched on is like that.
  package var isDigitalSilence: Bool { peak == 0 }

  /// Listens to a microphone of the sound server for `duration`, with a stream of its own, beside
  /// whoever else records. `source` is the server's name for it; nil is the default one. Waits at
  /// most `patience` for the first sample; throws why there is none.
  package static func measure(
    source: String?, for duration: Duration = .milliseconds(500),
    patience: Duration = .seconds(2)
  ) throws(AudioFault) -> AudioLevel {
    let pulse = try PulseAudio(source: source)
    defer { pulse.close() }
    pulse.capture.start()
    let wanted = Int(duration.wholeNanoseconds * Int64(AudioLimits.sampleRate) / 1_000_000_000)
    var samples: [Int16] = []
    samples.reserveCapacity(wanted)
    var chunk = [Int16](repeating: 0, count: 4_800)
    let deadline = pa_rtclock_now() + UInt64((patience + duration).milliseconds * 1_000)
    while samples.count < wanted, pa_rtclock_now() < deadline {
      var polled = pollfd(fd: pulse.capture.wake.descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&polled, 1, 50)
      pulse.capture.wake.drain()
      while pulse.capture.ring.count > 0 {
        let got = unsafe chunk.withUnsafeMutableBufferPointer { buffer in
          unsafe pulse.capture.ring.read(into: buffer)
        }
        guard got > 0 else { break }
        samples += chunk[..<got]
      }
    }
    if samples.isEmpty {
      throw pulse.capture.fault ?? .streamRefused(reason: "no sound in \(patience)")
    }
    return AudioLevel(samples)
  }
}
