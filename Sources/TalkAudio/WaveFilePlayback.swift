/// A loudspeaker that writes a WAV file, in real time: for tests, and for nodes that only record.
///
/// The file holds what would be heard while the device is started, and is whole at every moment.
@safe package final class WaveFilePlayback: PlaybackDevice {
  package let events: AudioEvents
  /// Readable when there is something to do.
  package let wake: Wake
  private let sink: PacedSink
  private let thread: PacedThread

  /// Makes or empties the file at `path`; `unwritableFile` when that fails, and as a `lost` event
  /// when the disk is full later.
  package init(path: String) throws(AudioFault) {
    let file = try SoundFileWriter(path: path)
    let events = try AudioEvents(name: "wav:\(path)", fault: nil)
    self.events = events
    let sink = try unsafe PacedSink { samples in
      if unsafe !file.write(samples) {
        events.lost(.unwritableFile(path: path, reason: "writing failed"), kind: "wav:\(path)")
      }
    }
    self.sink = sink
    wake = sink.wake
    thread = try PacedThread { sink.tick() }
  }

  deinit { thread.end(waiting: true) }

  /// How often silence had to be played because nothing was written.
  package var underruns: Int { sink.underruns }

  /// How many samples should be written now; 0 while stopped.
  package var wanted: Int { sink.wanted }

  /// Hands over samples to be heard next; what exceeds the room is left out.
  package func write(_ samples: UnsafeBufferPointer<Int16>) { unsafe sink.write(samples) }

  /// Lets samples move, as soon as there is a stream.
  package func start() {
    sink.start()
    thread.start()
  }

  /// Lets no more samples move.
  package func stop() {
    sink.stop()
    thread.stop()
  }
}
