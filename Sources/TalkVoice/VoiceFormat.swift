package import TalkWire

/// What voice is made of on the way from one mouth to every ear: mono, 48 kHz, 16 bits, Opus.
package enum VoiceFormat {
  /// Samples per second of everything that is heard or spoken.
  package static let sampleRate = 48_000
  /// Bits per second of encoded voice: constant, so that its size says nothing about the speech.
  package static let bitRate = 24_000
  /// The most bytes that one encoded frame may have.
  package static let frameSizeLimit = VoiceHeader.frameSizeLimit
  /// The nanoseconds that `samples` last, to the nearest below.
  static func nanoseconds(samples: Int) -> Int64 {
    Int64(samples) * 1_000_000_000 / Int64(sampleRate)
  }
}

extension FrameLength {
  /// Bytes of one encoded frame at `VoiceFormat.bitRate`: 60 for 20 ms, 30 for 10 ms.
  package var encodedSize: Int { samples * VoiceFormat.bitRate / VoiceFormat.sampleRate / 8 }

  /// The nanoseconds that one frame lasts.
  var nanoseconds: Int64 { VoiceFormat.nanoseconds(samples: samples) }
}

/// Why the codec could not be had. Only a broken installation of libopus can cause this.
package enum VoiceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `opus_encoder_init` or a setting of it refused; the code is one of opus_defines.h.
  case encoderUnavailable(code: Int32)
  /// `opus_decoder_init` refused; the code is one of opus_defines.h.
  case decoderUnavailable(code: Int32)

  /// What failed, and the cure.
  package var description: String {
    let (what, code) =
      switch self {
      case .encoderUnavailable(let code): ("encoder", code)
      case .decoderUnavailable(let code): ("decoder", code)
      }
    return "libopus gives no \(what) (error \(code)): reinstall the package libopus0"
  }
}
