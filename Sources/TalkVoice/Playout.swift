package import TalkCore
package import TalkWire

/// Plays one speaker's burst: a jitter buffer with copies, concealment and catch-up, and the
/// decoder.
///
/// Drive it so: `begin` with the burst's token; `insert` each frame as it arrives, in any order;
/// `render` whenever the device wants samples, always, for it gives silence when there is nothing;
/// `finish` once the number of the last frame is known, or `cut` to stop at once. The memory is
/// taken once, and nothing is allocated after `init`. One speaker, one playout: never feed two.
///
/// **Delay.** Playing starts when the quickest frame so far has waited for `startDelay`. Frames
/// kept from the press come in one lump and start at once, so nothing is lost at the head. Then the
/// delay follows what arrivals ask for (`ArrivalDelay`: 20 to 200 ms). Too much is taken out of
/// pauses, else with a pitch-aligned cross-fade at most once in ten frames; too little is added in
/// the same way, or while a frame is missing. More than `bufferLimit` is never held: the oldest is
/// dropped.
///
/// **Loss.** A missing frame is concealed for at most 60 ms with a fade, then there is silence.
/// With no frame at all for `silenceLimit` the burst counts as over; if it goes on after that, it
/// is buffered anew, with the same decoder. Frames that are all late for half a second mean that
/// the path has become longer: then buffering starts anew too.
@safe package final class Playout {
  /// What it is doing.
  package enum State: Sendable {
    /// Nothing to play.
    case idle
    /// A burst has begun, and too little of it is here.
    case buffering
    /// Sound comes out.
    case playing
    /// The end of the burst is known; the rest comes out.
    case draining
  }

  /// What became of a frame.
  package enum Insertion: Sendable {
    /// It waits to be played.
    case accepted
    /// It came before.
    case duplicate
    /// Its moment has passed.
    case late
    /// There is no burst, it lies behind the burst's end, or its size makes no sense.
    case refused
  }

  /// How long the quickest frame waits before a burst starts to play.
  package static let startDelay = Duration.milliseconds(40)
  /// The most sound that is held.
  package static let bufferLimit = Duration.milliseconds(500)
  /// A burst without frames for so long is over.
  package static let silenceLimit = Duration.milliseconds(200)
  /// When all frames have been late for so long, buffering starts anew.
  static let lateLimit = Duration.milliseconds(500)
  /// The longest frame, in samples.
  static let frameLimit = 960

  let decoder: VoiceDecoder
  var store = FrameStore()
  var arrival = ArrivalDelay()
  var queue = SoundQueue(capacity: 4 * Playout.frameLimit)
  let work: UnsafeMutableBufferPointer<Int16>

  var phase = State.idle
  var frameLength: FrameLength?
  /// The lowest number that may still be played.
  var next: Int64 = 0
  var highest: Int64 = -1
  var last: Int64?
  var lastArrival: Int64 = 0
  var lateFrames = 0
  /// True when the burst only fell silent, so that it may go on.
  var mayResume = false
  /// The smoothed delay, in nanoseconds; nil until something was played.
  var smoothed: Int64?
  /// Frames' worth of concealment that no number has been given up for yet.
  var held = 0
  /// Samples of concealment since the last true frame.
  var concealedRun = 0
  var framesSinceChange = 0
  /// The loudest recent power, dying away, against which a pause is told.
  var loudness = 0.0
  var counts = PlayoutStatistics()

  /// The burst that is, or was last, played.
  package internal(set) var stream: TokenID?

  /// Takes all memory that playing needs.
  package init(_ coding: VoiceCoding = .opus) throws(VoiceError) {
    decoder = try VoiceDecoder(coding)
    unsafe work = .allocate(capacity: 2 * Self.frameLimit)
    unsafe work.initialize(repeating: 0)
  }

  deinit { unsafe work.deallocate() }

  /// What it is doing; `draining` too while the last samples fade.
  package var state: State { phase == .idle && queue.count > 0 ? .draining : phase }

  /// True while a burst is expected to sound or sounds.
  package var isActive: Bool { state != .idle }

  /// Figures of the burst that is, or was last, played.
  package var statistics: PlayoutStatistics {
    var result = counts
    let waiting = store.count * (frameLength?.samples ?? 0) + queue.count
    result.buffered = .nanoseconds(VoiceFormat.nanoseconds(samples: waiting))
    result.delay = .nanoseconds(max(0, smoothed ?? 0))
    result.target = .nanoseconds(arrival.target)
    return result
  }

  /// Starts a burst with a fresh decoder. One that still plays is cut.
  package func begin(_ stream: TokenID, now: Instant) {
    if isActive { cut(now: now) }
    self.stream = stream
    decoder.restart()
    store.restart()
    frameLength = nil
    last = nil
    counts = PlayoutStatistics()
    loudness = 0
    highest = -1
    startBuffering(at: 0, now: Self.time(now))
  }

  /// The burst goes on under another name: decoder, buffer and clock stay.
  package func renumber(to stream: TokenID) { self.stream = stream }

  /// Buffers anew, for frames from `number` on.
  func startBuffering(at number: Int64, now: Int64) {
    phase = .buffering
    next = number
    lastArrival = now
    lateFrames = 0
    mayResume = false
    smoothed = nil
    held = 0
    concealedRun = 0
    framesSinceChange = 0
    if let frameLength { restartArrival(frameLength) }
  }

  private func restartArrival(_ length: FrameLength) {
    arrival.restart(
      start: Self.startDelay.wholeNanoseconds, frameNanoseconds: length.nanoseconds)
  }

  static func time(_ instant: Instant) -> Int64 { Int64(clamping: instant.nanoseconds) }

  /// Takes the frame `sequence` of the burst, `samplesPerFrame` long (as its packet says; it stays
  /// the same for a whole burst). Any order will do, and frames may come twice.
  @discardableResult
  package func insert(
    sequence: UInt32, frame: UnsafeRawBufferPointer, samplesPerFrame: Int, now: Instant
  ) -> Insertion {
    let number = Int64(sequence)
    let time = Self.time(now)
    guard let length = FrameLength(samples: samplesPerFrame), frameLength ?? length == length,
      frame.count > 0, frame.count <= VoiceFormat.frameSizeLimit, number <= last ?? .max,
      phase != .idle || mayResume && number >= next
    else {
      counts.refused += 1
      return .refused
    }
    if phase == .idle { startBuffering(at: next, now: time) }
    if frameLength == nil {
      frameLength = length
      restartArrival(length)
    }
    lastArrival = time
    guard !store.hasSeen(number) else {
      counts.duplicates += 1
      return .duplicate
    }
    store.see(number)
    counts.received += 1
    arrival.note(number, at: time)
    if number > highest {
      highest = number
      giveUp(below: number + 1 - Self.bufferLimit.wholeNanoseconds / length.nanoseconds)
    }
    guard number >= next else { return noteLate(number, length, at: time) }
    lateFrames = 0
    _ = unsafe store.insert(number, frame)
    return .accepted
  }

  /// Counts a late frame, and starts anew when there have been nothing but late ones for too long.
  private func noteLate(_ number: Int64, _ length: FrameLength, at time: Int64) -> Insertion {
    counts.late += 1
    lateFrames += 1
    if Int64(lateFrames) * length.nanoseconds >= Self.lateLimit.wholeNanoseconds, last == nil {
      store.removeAll()
      highest = number
      startBuffering(at: number + 1, now: time)
    }
    return .late
  }

  /// Drops what waits below `number`: the cap on buffered sound.
  private func giveUp(below number: Int64) {
    guard number > next else { return }
    for old in max(next, number - Int64(FrameStore.capacity))..<number {
      if store.remove(old) {
        counts.trimmed += .nanoseconds(frameLength?.nanoseconds ?? 0)
        smoothed = smoothed.map { $0 - (frameLength?.nanoseconds ?? 0) }
      } else if phase != .buffering {
        counts.lost += 1
      }
    }
    next = number
  }

  /// Says that the frame `lastSequence` is the last of the burst.
  package func finish(after lastSequence: UInt32) {
    guard phase == .buffering || phase == .playing else {
      mayResume = false
      return
    }
    last = Int64(lastSequence)
    if phase == .playing {
      phase = .draining
    } else if store.count == 0 {
      endBurst(mayResume: false)
    }
  }

  /// Stops within 5 ms.
  package func cut(now: Instant) {
    if phase == .playing || phase == .draining, queue.count < Splice.overlap, concealedRun == 0 {
      let sound = unsafe UnsafeMutableBufferPointer(rebasing: work[..<480])
      unsafe decoder.conceal(into: sound)
      unsafe queue.append(UnsafeBufferPointer(sound))
    }
    queue.shorten(to: Splice.overlap)
    unsafe Splice.fade(queue.waiting, from: 1, to: 0)
    endBurst(mayResume: false)
  }

  func endBurst(mayResume: Bool) {
    phase = .idle
    self.mayResume = mayResume
    store.removeAll()
  }
}
