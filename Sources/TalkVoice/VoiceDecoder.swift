import COpus

/// One Opus decoder in memory that is taken once. `restart` makes it as good as new, so that each
/// burst begins without a trace of another speaker.
@safe package struct VoiceDecoder: ~Copyable {
  private let state: OpaquePointer
  private let memory: UnsafeMutableRawPointer
  private let coding: VoiceCoding

  /// Takes the memory and sets the decoder up (opus_decoder_init).
  package init(_ coding: VoiceCoding = .opus) throws(VoiceError) {
    self.coding = coding
    let size = Int(opus_decoder_get_size(1))
    unsafe memory = .allocate(byteCount: size, alignment: 16)
    unsafe state = OpaquePointer(memory)
    let code = unsafe opus_decoder_init(state, Int32(VoiceFormat.sampleRate), 1)
    guard code == OPUS_OK else {
      unsafe memory.deallocate()
      throw .decoderUnavailable(code: code)
    }
  }

  deinit { unsafe memory.deallocate() }

  /// Makes a fresh decoder in the same memory; it cannot fail where `init` did not.
  package borrowing func restart() {
    _ = unsafe opus_decoder_init(state, Int32(VoiceFormat.sampleRate), 1)
  }

  /// Decodes `frame` into exactly `target.count` samples; false, and the target silent, when the
  /// bytes are not a frame of that length (opus_decode).
  package borrowing func decode(
    _ frame: UnsafeRawBufferPointer, into target: UnsafeMutableBufferPointer<Int16>
  ) -> Bool {
    guard let sound = target.baseAddress else { return false }
    if coding == .marked {
      guard frame.count >= 2 else { return false }
      let mark = unsafe UInt16(frame[0]) << 8 | UInt16(frame[1])
      unsafe target.update(repeating: Int16(bitPattern: mark))
      return true
    }
    let bytes = unsafe frame.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let got = unsafe opus_decode(
      state, bytes, Int32(frame.count), sound, Int32(target.count), 0)
    guard Int(got) == target.count else {
      unsafe target.update(repeating: 0)
      return false
    }
    return true
  }

  /// Fills `target` with what probably followed what was decoded last (opus_decode without data);
  /// silent when the decoder has nothing to go by. The count must be a multiple of 2.5 ms.
  package borrowing func conceal(into target: UnsafeMutableBufferPointer<Int16>) {
    guard coding == .opus else { return unsafe target.update(repeating: 0) }
    guard let sound = target.baseAddress else { return }
    let got = unsafe opus_decode(state, nil, 0, sound, Int32(target.count), 0)
    if Int(got) != target.count { unsafe target.update(repeating: 0) }
  }
}
