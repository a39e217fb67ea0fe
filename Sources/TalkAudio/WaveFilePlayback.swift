/// A loudspeaker that writes a WAV file, in real time: for tests, and for nodes that only record.
///
/// The file holds what would be heard while the device is started, and is whole at every moment.
@safe package final class WaveFilePlayback: PacedPlayback {
  package let events: AudioEvents
  let sink: PacedSink
  let thread: PacedThread

  /// Makes or empties the file at `path`; `unwritableFile` when that fails, and as a `lost` event
  /// when the disk is full later.
  package init(path: String) throws(AudioFault) {
    let file = try SoundFileWriter(path: path)
    let events = try AudioEvents(name: "wav:\(path)", fault: nil)
    self.events = events
    sink = try unsafe PacedSink { samples in
      if unsafe !file.write(samples) {
        events.lost(.unwritableFile(path: path, reason: "writing failed"), kind: "wav:\(path)")
      }
    }
    thread = try PacedThread { [sink] in sink.tick() }
  }

  deinit { thread.end(waiting: true) }
}
