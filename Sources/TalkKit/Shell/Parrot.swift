import TalkCore
import TalkWire

/// A node that repeats what it hears, so that one person can try microphone, floor and loudspeaker.
///
/// What it holds, and when it may answer; no I/O and no clock. Drive it so: tell it when bursts
/// begin and end, its own included; give it what is rendered while `isHearing`; once nothing is to
/// be heard any more and the floor is free, take `answer`, and speak it. Only the last burst is
/// repeated: who speaks on is not interrupted with what was said before.
struct Parrot {
  /// What is to be done with the burst that was heard.
  enum Answer: Equatable {
    /// Speak these samples, mono at 48 kHz, on this channel.
    case speak([Int16], on: ChannelID)
    /// It was another parrot: two would repeat each other for ever.
    case leave
  }

  /// A burst that is as long as ours, to within this, and that follows or precedes ours at once, is
  /// another parrot's.
  static let echoLength = Duration.milliseconds(150)
  /// What "at once" is.
  static let echoGap = Duration.seconds(1)
  /// How much shorter than the talk limit an answer is: grant, tail and a slow loop fit in.
  static let limitMargin = Duration.milliseconds(500)

  private struct Burst {
    var token: TokenID
    var channel: ChannelID
    var began: Instant
    var ended: Instant?

    var length: Duration { (ended ?? began) - began }
  }

  private let me: PeerID
  private var heard: Burst?
  private var spoken: Burst?
  private var samples: [Int16] = []
  private var capacity = 0

  /// A parrot that knows its own bursts by `me`.
  init(me: PeerID) { self.me = me }

  /// True while what is rendered belongs to the burst that is heard.
  var isHearing: Bool { heard != nil }

  /// The channel whose burst has ended and waits for its answer.
  var waitingChannel: ChannelID? { heard?.ended == nil ? nil : heard?.channel }

  /// A burst began, or one that had lapsed goes on. `limit` is the channel's talk limit.
  mutating func began(
    _ token: TokenID, on channel: ChannelID, limit: Duration, at now: Instant
  ) {
    let burst = Burst(token: token, channel: channel, began: now)
    if token.holder == me {
      spoken = burst
    } else if heard?.token == token {
      heard?.ended = nil
    } else {
      heard = burst
      samples.removeAll(keepingCapacity: true)
      let bound = max(.zero, limit - Self.limitMargin)
      capacity = Int(bound.wholeNanoseconds / 1_000_000) * 48
    }
  }

  /// A burst ended; what is buffered of it is still rendered.
  mutating func ended(_ token: TokenID, at now: Instant) {
    if spoken?.token == token { spoken?.ended = now }
    if heard?.token == token { heard?.ended = now }
  }

  /// What the loudspeaker plays of the burst; what is longer than the talk limit is not kept.
  mutating func hear(_ quantum: UnsafeBufferPointer<Int16>) {
    let room = max(0, capacity - samples.count)
    unsafe samples.append(contentsOf: quantum.prefix(room))
  }

  /// What to do with the burst that has ended; nil when there is none. It is given out once.
  mutating func answer() -> Answer? {
    guard let burst = heard, burst.ended != nil else { return nil }
    heard = nil
    guard !isEcho(burst) else { return .leave }
    let sound = samples
    samples = []
    // Nothing but silence: nobody spoke, or all was lost.
    guard sound.contains(where: { $0 != 0 }) else { return nil }
    return .speak(sound, on: burst.channel)
  }

  private func isEcho(_ burst: Burst) -> Bool {
    guard let spoken, let end = spoken.ended, let burstEnd = burst.ended else { return false }
    let after = burst.began - end
    let before = spoken.began - burstEnd
    let isNext =
      (after >= .zero && after <= Self.echoGap)
      || (before >= .zero && before <= Self.echoGap)
    let longer = max(burst.length, spoken.length)
    return isNext && longer - min(burst.length, spoken.length) <= Self.echoLength
  }
}
