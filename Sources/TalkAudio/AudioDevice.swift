package import TalkCore

/// A microphone or loudspeaker, or what stands in for one: PulseAudio, a WAV file, or nothing.
///
/// All samples are mono, 48 kHz, 16 bits. One thread, the loop, calls a device; no call waits for
/// anything. A device is stopped when it is made, and what it was told last (start or stop) holds
/// for every stream it gets, whatever happens to the sound server in between.
package protocol AudioDevice: AnyObject, Sendable {
  /// What happens to the device, with its name and why it cannot be used.
  var events: AudioEvents { get }
  /// Readable when there is something to do: samples to take, or samples to write.
  var wake: Wake { get }
  /// Lets samples move, as soon as there is a stream.
  func start()
  /// Lets no more samples move.
  func stop()
}

extension AudioDevice {
  /// `pulse:NAME`, `wav:PATH` or `null`.
  package var name: String { events.name }
  /// Why the device cannot be used now; nil when it can.
  package var fault: AudioFault? { events.fault }
}

/// A source of samples.
///
/// Drive it so: when `wake` is readable, drain it and read everything out of `ring`.
package protocol CaptureDevice: AudioDevice {
  /// Captured samples. `start` empties it, so it never holds what was before the press.
  var ring: SampleRing { get }
  /// How many samples were lost because nobody read the ring.
  var overruns: Int { get }
}

/// A sink of samples.
///
/// Drive it so: when `wake` is readable, drain it, and `write` as many samples as are `wanted`,
/// silence where there is nothing else. Before `stop`, write 50 ms of silence: what is under way
/// is dropped.
package protocol PlaybackDevice: AudioDevice {
  /// How many samples should be written now; 0 while stopped.
  var wanted: Int { get }
  /// Hands over samples to be heard next; what exceeds the room is left out.
  func write(_ samples: UnsafeBufferPointer<Int16>)
  /// How often the loudspeaker had to play silence because nothing was written.
  var underruns: Int { get }
}

/// Figures that all devices share.
enum AudioLimits {
  /// Samples per second.
  static let sampleRate = 48_000
  /// Room between the loop and a device's thread: 341 ms.
  static let ring = 16_384
  /// What paced devices move at a time: 10 ms.
  static let quantum = 480
}
