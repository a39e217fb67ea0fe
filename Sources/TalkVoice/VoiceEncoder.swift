import COpus
import TalkWire

/// Turns captured frames into Opus: voice, 24 kbit/s constant, complexity 10, no DTX, no in-band
/// FEC (voice.md: copies of older frames beat it at equal bits).
///
/// Drive it so: `reset()` at each press, then `encode` every 20 ms (or 10 ms) frame in order. The
/// memory is taken once; encoding allocates nothing.
@safe package final class VoiceEncoder {
  private let state: OpaquePointer
  private let memory: UnsafeMutableRawPointer
  private let coding: VoiceCoding

  /// Takes the codec's memory and sets it up.
  package init(_ coding: VoiceCoding = .opus) throws(VoiceError) {
    self.coding = coding
    let size = Int(opus_encoder_get_size(1))
    unsafe memory = .allocate(byteCount: size, alignment: 16)
    unsafe state = OpaquePointer(memory)
    let code = unsafe opus_encoder_init(
      state, Int32(VoiceFormat.sampleRate), 1, OPUS_APPLICATION_VOIP)
    guard code == OPUS_OK else { throw .encoderUnavailable(code: code) }
    let settings: [(Int32, Int32)] = [
      (OPUS_SET_BITRATE_REQUEST, Int32(VoiceFormat.bitRate)), (OPUS_SET_VBR_REQUEST, 0),
      (OPUS_SET_COMPLEXITY_REQUEST, 10), (OPUS_SET_SIGNAL_REQUEST, OPUS_SIGNAL_VOICE),
      (OPUS_SET_INBAND_FEC_REQUEST, 0), (OPUS_SET_DTX_REQUEST, 0),
      (OPUS_SET_PACKET_LOSS_PERC_REQUEST, 0),
    ]
    for (request, value) in settings {
      let code = unsafe talk_opus_encoder_set(state, request, value)
      guard code == OPUS_OK else { throw .encoderUnavailable(code: code) }
    }
  }

  deinit { unsafe memory.deallocate() }

  /// Forgets all speech so far, so that a burst carries nothing of the one before it
  /// (OPUS_RESET_STATE).
  package func reset() {
    _ = unsafe talk_opus_encoder_reset(state)
  }

  /// How many samples the decoded sound lags behind the spoken one (OPUS_GET_LOOKAHEAD): so many
  /// samples must be encoded after the last word for it to come out whole.
  package var lookahead: Int {
    var value: Int32 = 0
    _ = unsafe talk_opus_encoder_get(state, OPUS_GET_LOOKAHEAD_REQUEST, &value)
    return Int(value)
  }

  /// Encodes one frame of exactly 960 or 480 samples and returns how many bytes of `target` it
  /// took (`FrameLength.encodedSize`); nil for another number of samples or too small a target
  /// (opus_encode).
  package func encode(
    pcm: UnsafeBufferPointer<Int16>, into target: UnsafeMutableRawBufferPointer
  ) -> Int? {
    guard let length = FrameLength(samples: pcm.count), length.encodedSize <= target.count,
      let source = pcm.baseAddress,
      let bytes = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self)
    else { return nil }
    if coding == .marked {
      unsafe bytes.update(repeating: 0, count: length.encodedSize)
      let mark = unsafe UInt16(bitPattern: source[0])
      unsafe bytes[0] = UInt8(mark >> 8)
      unsafe bytes[1] = UInt8(mark & 255)
      return length.encodedSize
    }
    let size = unsafe opus_encode(
      state, source, Int32(pcm.count), bytes, Int32(length.encodedSize))
    return size > 0 ? Int(size) : nil
  }
}
