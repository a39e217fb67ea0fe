import TalkCore
import TalkVoice
import TalkWire

/// Our own voice on its way out: captured samples become frames, which are kept from the press on
/// and leave once the floor is ours (architecture.md, "The life of a press").
///
/// Drive it so: `open` at the press; `add` captured samples and take `encodeNext` until it is nil;
/// `grant` when the floor is ours; `finish` when the key goes up; `close` when the burst is over.
/// Memory is taken once.
@safe final class Uplink {
  /// How much voice is kept before the grant: 300 ms (floor.md, "First syllable").
  static let backlogFrames = 15
  /// How much is kept while the press waits in the queue: 40 ms.
  static let queuedFrames = 2
  /// How long capture goes on after the key went up: what was said is still in the device.
  static let tail = Duration.milliseconds(40)
  /// The frame that we send.
  static let frameLength = FrameLength.twentyMilliseconds

  private let encoder: VoiceEncoder
  private let pcm: UnsafeMutableBufferPointer<Int16>
  private var filled = 0
  private let store: UnsafeMutableRawBufferPointer
  /// How long each waiting frame is, oldest first; its bytes lie at its slot of `store`.
  private var kept = BoundedQueue<Int>(limit: backlogFrames + 1)
  private var nextSlot = 0

  /// The channel whose key is down, or whose tail is being spoken.
  private(set) var channel: ChannelID?
  /// The token under which frames leave; nil before the grant.
  private(set) var token: Token?
  /// The number of the next frame of the burst.
  private(set) var nextSequence: UInt32 = 0
  /// When the tail is over; nil while the key is down.
  private(set) var tailEnd: Instant?
  /// The times of this press.
  private(set) var times: PressTimes?
  /// True once a captured sample came in this press.
  private(set) var hasSamples = false
  /// True while the press waits in the queue.
  var isQueued = false
  /// The level of the last frame.
  private(set) var level = SoundLevel.silence

  /// Takes the memory of the encoder and the backlog.
  init(_ coding: VoiceCoding) throws(VoiceError) {
    encoder = try VoiceEncoder(coding)
    unsafe pcm = .allocate(capacity: Self.frameLength.samples)
    unsafe pcm.initialize(repeating: 0)
    unsafe store = .allocate(
      byteCount: (Self.backlogFrames + 1) * VoiceFormat.frameSizeLimit, alignment: 16)
  }

  deinit {
    unsafe pcm.deallocate()
    unsafe store.deallocate()
  }

  /// A press: capture runs from here, for `channel`.
  func open(_ channel: ChannelID, now: Instant) {
    close()
    encoder.reset()
    self.channel = channel
    times = PressTimes(pressed: now)
  }

  /// The floor is ours under `token`.
  func grant(_ token: Token, now: Instant) {
    self.token = token
    nextSequence = 0
    isQueued = false
    times?.granted = now
    times?.permitted = nil
  }

  /// The burst goes on under another turn.
  func renumber(_ token: Token) { self.token = token }

  /// The floor was taken from us; the key is still down, so capture goes on for the next grant.
  func loseFloor(now: Instant) {
    token = nil
    tailEnd = nil
    kept.removeAll()
    times = PressTimes(pressed: now)
  }

  /// The permit tone begins.
  func permit(now: Instant) { times?.permitted = now }

  /// The key is up: capture goes on for the tail.
  func finish(now: Instant) { tailEnd = now + Self.tail }

  /// The burst is over, or the press led to none.
  func close() {
    channel = nil
    token = nil
    nextSequence = 0
    tailEnd = nil
    times = nil
    hasSamples = false
    isQueued = false
    filled = 0
    level = .silence
    kept.removeAll()
  }

  /// True when capture should run.
  var wantsCapture: Bool { channel != nil }

  /// Takes captured samples, encodes each whole frame and keeps it.
  func add(_ samples: UnsafeBufferPointer<Int16>) {
    guard channel != nil else { return }
    if samples.count > 0 { hasSamples = true }
    var taken = 0
    while taken < samples.count {
      let amount = unsafe min(samples.count - taken, pcm.count - filled)
      var index = 0
      while index < amount {
        unsafe pcm[filled + index] = samples[taken + index]
        index += 1
      }
      filled += amount
      taken += amount
      if unsafe filled == pcm.count { encodeFrame() }
    }
  }

  /// Fills the frame that is begun with silence and encodes it: the end of the tail. The silence
  /// also carries the encoder's look-ahead, so that the last word comes out whole.
  func flushTail() {
    while unsafe filled < pcm.count {
      unsafe pcm[filled] = 0
      filled += 1
    }
    encodeFrame()
  }

  private func encodeFrame() {
    filled = 0
    level = unsafe LevelMeter.measure(UnsafeBufferPointer(pcm))
    let limit = token == nil && isQueued ? Self.queuedFrames : Self.backlogFrames
    while kept.count >= limit { _ = kept.popFirst() }
    let offset = nextSlot * VoiceFormat.frameSizeLimit
    let slot = unsafe UnsafeMutableRawBufferPointer(
      rebasing: store[offset..<offset + VoiceFormat.frameSizeLimit])
    guard let count = unsafe encoder.encode(pcm: UnsafeBufferPointer(pcm), into: slot) else {
      return
    }
    nextSlot = (nextSlot + 1) % (Self.backlogFrames + 1)
    kept.append(count)
  }

  /// How many frames wait.
  var keptCount: Int { kept.count }

  /// The bytes of the oldest frame that waits.
  var nextFrame: UnsafeRawBufferPointer? {
    guard let count = kept.first else { return nil }
    let slots = Self.backlogFrames + 1
    let offset = (nextSlot + slots - kept.count) % slots * VoiceFormat.frameSizeLimit
    return unsafe UnsafeRawBufferPointer(rebasing: store[offset..<offset + count])
  }

  /// The oldest frame has left.
  func dropFrame() {
    _ = kept.popFirst()
    nextSequence += 1
  }
}
