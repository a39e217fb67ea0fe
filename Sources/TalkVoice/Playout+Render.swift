package import TalkCore
import TalkWire

extension Playout {
  /// The longest concealment, in samples: 60 ms.
  private static let concealmentLimit = 2_880
  /// How much of a concealment is at full strength, in samples: 20 ms.
  private static let concealmentHold = 960
  /// Sound so much weaker than the loudest recent speech is a pause: 20 dB.
  private static let pauseRatio = 0.1
  /// Sound weaker than this is a pause whatever was before: -55 dB of full scale.
  private static let pauseFloor = 60.0
  /// How the loudest recent power dies away, per frame.
  private static let loudnessDecay = 0.995
  /// Speech is shortened or stretched at most once in so many frames.
  private static let changeInterval = 10
  /// Speech is shortened only when the delay is so much too great; pauses from one frame on.
  private static let speechExcess: Int64 = 40_000_000
  /// Speech that repeats itself less than this is left alone, unless the delay is far too great.
  private static let likenessLimit: Float = 0.5
  /// So much too great a delay is shortened wherever it can be.
  private static let farExcess: Int64 = 120_000_000

  /// Fills all of `target` with the next sound, or silence. `now` is when its first sample is
  /// handed over.
  package func render(into target: UnsafeMutableBufferPointer<Int16>, now: Instant) {
    let time = Self.time(now)
    var filled = 0
    while filled < target.count {
      let rest = unsafe UnsafeMutableBufferPointer(rebasing: target[filled...])
      if queue.count == 0, !produce(at: time + VoiceFormat.nanoseconds(samples: filled)) {
        unsafe rest.update(repeating: 0)
        return
      }
      filled += unsafe queue.take(into: rest)
    }
  }

  /// Queues the next sound for `time`; false when there is none, which is silence.
  private func produce(at time: Int64) -> Bool {
    guard phase != .idle, let length = frameLength ?? waitForFirst(at: time) else { return false }
    if phase == .buffering {
      guard let first = store.lowest else {
        endIfSilent(at: time)
        return false
      }
      let waited = arrival.delay(of: first, at: time)
      guard waited >= Self.startDelay.wholeNanoseconds else { return false }
      next = first
      phase = last == nil ? .playing : .draining
    }
    if let last, next > last { return finishSound() }
    let raw = arrival.delay(of: next, at: time)
    smoothed = smoothed.map { $0 + (raw - $0) / 8 } ?? raw
    if store.contains(next) {
      playFrame(length)
      return true
    }
    return playGap(length, at: time)
  }

  private func waitForFirst(at time: Int64) -> FrameLength? {
    endIfSilent(at: time)
    return nil
  }

  private func endIfSilent(at time: Int64) {
    if time - lastArrival >= Self.silenceLimit.wholeNanoseconds {
      endBurst(mayResume: last == nil)
    }
  }

  /// The part of the work space that starts at `start`.
  private func workspace(_ start: Int, _ count: Int) -> UnsafeMutableBufferPointer<Int16> {
    unsafe UnsafeMutableBufferPointer(rebasing: work[start..<start + count])
  }

  /// Decodes the frame `next` to the work space at `start`, and goes on to the one after it.
  private func decodeNext(_ length: FrameLength, at start: Int) {
    let target = unsafe workspace(start, length.samples)
    if let frame = unsafe store.frame(next) {
      _ = unsafe decoder.decode(frame, into: target)
      store.remove(next)
    }
    next += 1
  }

  private func playFrame(_ length: FrameLength) {
    let samples = length.samples
    decodeNext(length, at: 0)
    if concealedRun > 0 {
      let start = unsafe workspace(0, Splice.overlap)
      unsafe Splice.fade(start, from: Self.gain(after: concealedRun), to: 1)
    }
    concealedRun = 0
    held = 0
    framesSinceChange += 1
    let quiet = isQuiet(samples)
    let excess = (smoothed ?? 0) - arrival.target
    let mayChange = quiet || framesSinceChange >= Self.changeInterval
    let least = quiet ? length.nanoseconds : Self.speechExcess
    if mayChange, excess >= least, store.contains(next) {
      shorten(length, quiet: quiet, excess: excess)
    } else if mayChange, -excess >= length.nanoseconds, last == nil {
      stretch(length)
    } else {
      unsafe queue.append(UnsafeBufferPointer(workspace(0, samples)))
    }
  }

  private func isQuiet(_ samples: Int) -> Bool {
    let power = unsafe LevelMeter.power(UnsafeBufferPointer(workspace(0, samples)))
    loudness = max(power, loudness * Self.loudnessDecay)
    return power < max(Self.pauseFloor, loudness * Self.pauseRatio)
  }

  /// Queues two frames less some sound: a whole frame of a pause, else whole periods of the voice.
  private func shorten(_ length: FrameLength, quiet: Bool, excess: Int64) {
    let samples = length.samples
    decodeNext(length, at: samples)
    let sound = unsafe workspace(0, 2 * samples)
    var removed = samples
    if !quiet {
      let best = unsafe Splice.bestLength(in: samples / 2...samples, of: sound)
      let fits = best.likeness >= Self.likenessLimit || excess >= Self.farExcess
      removed = fits ? best.length : 0
    }
    if removed > 0 {
      unsafe Splice.remove(removed, from: sound)
      let nanoseconds = VoiceFormat.nanoseconds(samples: removed)
      counts.trimmed += .nanoseconds(nanoseconds)
      smoothed = smoothed.map { $0 - nanoseconds }
      framesSinceChange = 0
    }
    unsafe queue.append(UnsafeBufferPointer(workspace(0, 2 * samples - removed)))
  }

  /// Queues the decoded frame, and one that the decoder makes up.
  private func stretch(_ length: FrameLength) {
    let samples = length.samples
    unsafe decoder.conceal(into: workspace(samples, samples))
    unsafe queue.append(UnsafeBufferPointer(workspace(0, 2 * samples)))
    counts.stretched += .nanoseconds(length.nanoseconds)
    smoothed = smoothed.map { $0 + length.nanoseconds }
    framesSinceChange = 0
  }

  /// Queues sound for a frame that is not there, and decides whether to wait for it: while nothing
  /// newer is here either, or while more delay is wanted anyway. What was waited for in vain is
  /// skipped once a newer frame comes. False when the burst has fallen silent.
  private func playGap(_ length: FrameLength, at time: Int64) -> Bool {
    let first = store.lowest
    if let first, held > 0 {
      let skipped = min(first - next, Int64(held))
      next += skipped
      counts.lost += Int(skipped)
      held -= Int(skipped)
      smoothed = smoothed.map { $0 - skipped * length.nanoseconds }
      if next == first {
        playFrame(length)
        return true
      }
    }
    if first == nil, time - lastArrival >= Self.silenceLimit.wholeNanoseconds {
      endBurst(mayResume: last == nil)
      return false
    }
    let delayAfter = (smoothed ?? 0) + length.nanoseconds
    let limit = first == nil ? ArrivalDelay.maximum : arrival.target
    if last == nil, delayAfter <= limit {
      held += 1
      smoothed = delayAfter
    } else {
      next += 1
      counts.lost += 1
    }
    conceal(length.samples)
    return true
  }

  /// The strength of concealment after so many samples of it.
  private static func gain(after samples: Int) -> Float {
    let fading = Float(max(0, samples - concealmentHold))
    return max(0, 1 - fading / Float(concealmentLimit - concealmentHold))
  }

  private func conceal(_ samples: Int) {
    let sound = unsafe workspace(0, samples)
    if concealedRun < Self.concealmentLimit {
      unsafe decoder.conceal(into: sound)
      unsafe Splice.fade(
        sound, from: Self.gain(after: concealedRun), to: Self.gain(after: concealedRun + samples))
    } else {
      unsafe sound.update(repeating: 0)
    }
    concealedRun += samples
    counts.concealed += .nanoseconds(VoiceFormat.nanoseconds(samples: samples))
    unsafe queue.append(UnsafeBufferPointer(sound))
  }

  /// Ends the burst: 10 ms of what probably followed, dying away, so that it ends without a click.
  private func finishSound() -> Bool {
    let audible = concealedRun == 0
    endBurst(mayResume: false)
    guard audible else { return false }
    let sound = unsafe workspace(0, Splice.overlap * 2)
    unsafe decoder.conceal(into: sound)
    unsafe Splice.fade(sound, from: 1, to: 0)
    unsafe queue.append(UnsafeBufferPointer(sound))
    return true
  }
}
