import TalkCore
import TalkVoice
import TalkWire

/// The voices of others on their way in: at most one is rendered at any time (invariant S1).
///
/// Two playouts take turns: while the last talker's buffered sound plays out, the next talker's
/// burst fills the other one and waits for its end.
@safe final class Downlink {
  /// What was received of a burst.
  struct Burst {
    var token: Token
    var channel: ChannelID
    var heard: UInt32 = 0
    var highest: UInt32?
    var done = false
  }

  /// The playout that is heard, or is heard next.
  private var first: Playout
  /// The one that waits for the first one's end.
  private var second: Playout
  private let tones: TonePlayer
  /// The burst that frames are taken for.
  private(set) var burst: Burst?
  /// The level of the last rendered quantum.
  private(set) var level = SoundLevel.silence
  /// True while our own burst leaves: nothing of others is rendered then.
  var isMuted = false

  /// Takes the memory of both playouts and the tones, which are `toneGain` times as loud as usual.
  init(toneGain: Double) throws(VoiceError) {
    tones = TonePlayer(gain: toneGain)
    first = try Playout()
    second = try Playout()
  }

  /// The playout that has the burst of `token`.
  private func playout(of token: TokenID) -> Playout? {
    if first.stream == token { return first }
    return second.stream == token ? second : nil
  }

  /// A burst of `token` begins, or a lapsed one goes on.
  func begin(_ token: Token, on channel: ChannelID, now: Instant) {
    if burst?.token.id == token.id {
      burst?.done = false
      return
    }
    burst = Burst(token: token, channel: channel)
    // The last talker plays out first; whatever waited behind it is given up.
    (first.isActive ? second : first).begin(token.id, now: now)
  }

  /// Takes the frames of a voice packet that belongs to the burst being heard.
  func insert(_ header: VoiceHeader, body: UnsafeRawBufferPointer, now: Instant) {
    guard let token = burst?.token.id, let size = header.frameSize(bodyCount: body.count),
      let playout = playout(of: token)
    else { return }
    for index in 0..<header.frameCount {
      let sequence = header.sequence(ofFrame: index)
      let frame = unsafe UnsafeRawBufferPointer(
        rebasing: body[header.range(ofFrame: index, size: size)])
      let result = unsafe playout.insert(
        sequence: sequence, frame: frame, samplesPerFrame: header.frameLength.samples, now: now)
      switch result {
      case .accepted, .late: burst?.heard += 1
      case .duplicate, .refused: break
      }
      let highest = burst?.highest ?? 0
      burst?.highest = max(highest, sequence)
    }
    if header.isLast { playout.finish(after: header.newestSequence) }
  }

  /// The burst is over; what is buffered plays out. Returns what was received of it, once.
  func end(_ token: Token, lastFrame: UInt32) -> (burst: Burst, missed: UInt32)? {
    guard var ended = burst, ended.token.id == token.id, !ended.done else { return nil }
    if lastFrame != .max {
      playout(of: token.id)?.finish(after: lastFrame)
      ended.highest = max(ended.highest ?? 0, lastFrame)
    }
    ended.done = true
    burst = ended
    let sent = ended.highest.map { $0 + 1 } ?? 0
    return (ended, sent > ended.heard ? sent - ended.heard : 0)
  }

  /// The burst must not be heard any more, not even what is buffered.
  func cut(_ token: Token, now: Instant) {
    playout(of: token.id)?.cut(now: now)
  }

  /// Cuts everything: we speak ourselves, or the channel is left.
  func cutAll(now: Instant) {
    first.cut(now: now)
    second.cut(now: now)
  }

  /// Sounds a tone.
  func play(_ tone: Tone) { tones.play(tone) }

  /// True while a voice or a tone is to be rendered.
  var wantsPlayback: Bool {
    tones.isPlaying || first.isActive || second.isActive
  }

  /// Fills `target` with the next samples.
  func render(into target: UnsafeMutableBufferPointer<Int16>, now: Instant) {
    if !first.isActive, second.isActive { swap(&first, &second) }
    if isMuted {
      for index in target.indices { unsafe target[index] = 0 }
    } else {
      unsafe first.render(into: target, now: now)
    }
    level = unsafe LevelMeter.measure(UnsafeBufferPointer(target))
    unsafe tones.mix(into: target)
  }

  /// The statistics of the burst being heard, or heard last.
  var statistics: PlayoutStatistics { first.statistics }
}
