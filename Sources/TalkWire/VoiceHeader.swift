package import TalkCore

/// How much sound one frame of voice holds; the low four bits of a VOICE packet's config byte.
package enum FrameLength: UInt8, Sendable, CaseIterable {
  /// 960 samples at 48 kHz: the usual length.
  case twentyMilliseconds = 0
  /// 480 samples at 48 kHz: less delay, more packets.
  case tenMilliseconds = 1

  /// Samples of one frame at 48 kHz.
  package var samples: Int { self == .twentyMilliseconds ? 960 : 480 }

  /// How long one frame lasts.
  package var duration: Duration { .milliseconds(samples / 48) }

  /// The length that has `samples` at 48 kHz; nil for any other number.
  package init?(samples: Int) {
    switch samples {
    case 960: self = .twentyMilliseconds
    case 480: self = .tenMilliseconds
    default: return nil
    }
  }
}

/// The first 16 bytes of a VOICE body; the frames follow.
///
/// | bytes | field |
/// |---|---|
/// | 6 | turn of the burst |
/// | 2 | seat |
/// | 4 | sequence |
/// | 1 | bits 0–1 class, bit 7 "the newest frame here is the burst's last", others zero |
/// | 1 | config: bits 0–3 `FrameLength`, others zero |
/// | 1 | number of frames, 1 to 16 |
/// | 1 | copy distance in frames |
///
/// The holder is the session's identity, so it is not repeated here.
///
/// **Where a frame ends.** Voice has a constant bit rate, so all frames of a packet are equally
/// long: the bytes behind the header, divided by the number of frames. A packet for which that
/// leaves a rest, nothing, or more than `frameSizeLimit` is refused whole.
///
/// **Which frame is which.** With copy distance 0 the frames follow each other: frame i has the
/// number sequence + i. With copy distance d > 0 frame 0 is the newest, and frame i repeats the
/// one with the number sequence − i·d; a burst's first packets have fewer frames rather than
/// numbers below zero.
package struct VoiceHeader: Hashable, Sendable {
  /// Bytes on the wire.
  package static let size = 16
  /// The most frames in a packet.
  package static let frameLimit = 16
  /// The most bytes in a frame.
  package static let frameSizeLimit = 256

  /// The turn of the holding that these frames belong to; 48 bits.
  package var turn: UInt64
  /// The speaker behind the holder.
  package var seat: UInt16
  /// The number of frame 0; a burst's first frame has 0.
  package var sequence: UInt32
  /// The class of the burst.
  package var floorClass: FloorClass
  /// True when the newest frame of this packet is the last of the burst.
  package var isLast: Bool
  /// How much sound each frame holds.
  package var frameLength: FrameLength
  /// How many frames follow.
  package var frameCount: Int
  /// 0 for frames that follow each other, else how many frames apart the copies are.
  package var copyDistance: UInt8

  /// Makes the header of a packet.
  package init(
    turn: UInt64, seat: UInt16, sequence: UInt32, floorClass: FloorClass, isLast: Bool = false,
    frameLength: FrameLength = .twentyMilliseconds, frameCount: Int = 1, copyDistance: UInt8 = 0
  ) {
    self.turn = turn
    self.seat = seat
    self.sequence = sequence
    self.floorClass = floorClass
    self.isLast = isLast
    self.frameLength = frameLength
    self.frameCount = frameCount
    self.copyDistance = copyDistance
  }

  /// Reads a header; nil when the bytes do not suffice or a field has no meaning: an unknown
  /// class, bit or frame length, no frames or too many, numbers below zero or above 32 bits.
  package init?(from reader: inout ByteReader) {
    guard let turn = reader.u48(), let seat = reader.u16(), let sequence = reader.u32(),
      let mixed = reader.u8(), let config = reader.u8(), let count = reader.u8(),
      let distance = reader.u8(), mixed & 0x7c == 0,
      let floorClass = FloorClass(rawValue: mixed & 3),
      let frameLength = FrameLength(rawValue: config)
    else { return nil }
    self.init(
      turn: turn, seat: seat, sequence: sequence, floorClass: floorClass,
      isLast: mixed & 0x80 != 0, frameLength: frameLength, frameCount: Int(count),
      copyDistance: distance)
    guard frameCount >= 1, frameCount <= Self.frameLimit, numbersFit else { return nil }
  }

  /// Appends the header.
  package func write(to writer: inout ByteWriter) {
    writer.u48(turn)
    writer.u16(seat)
    writer.u32(sequence)
    writer.u8(floorClass.rawValue | (isLast ? 0x80 : 0))
    writer.u8(frameLength.rawValue)
    writer.u8(UInt8(truncatingIfNeeded: frameCount))
    writer.u8(copyDistance)
  }

  private var numbersFit: Bool {
    let furthest = number(of: frameCount - 1)
    return furthest >= 0 && furthest <= Int64(UInt32.max)
  }

  private func number(of index: Int) -> Int64 {
    let step = copyDistance == 0 ? 1 : -Int64(copyDistance)
    return Int64(sequence) + Int64(index) * step
  }

  /// The number of frame `index`, which must be below `frameCount`.
  package func sequence(ofFrame index: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: number(of: index))
  }

  /// The highest number in this packet: the burst's last one when `isLast`.
  package var newestSequence: UInt32 {
    copyDistance == 0 ? sequence(ofFrame: frameCount - 1) : sequence
  }

  /// How long each frame is in a body of `bodyCount` bytes, this header included; nil when the
  /// frames would not be equally long, would be empty, or too long.
  package func frameSize(bodyCount: Int) -> Int? {
    let rest = bodyCount - Self.size
    guard rest > 0, frameCount > 0, rest % frameCount == 0 else { return nil }
    let size = rest / frameCount
    return size <= Self.frameSizeLimit ? size : nil
  }

  /// Where frame `index` lies in a body whose frames have `size` bytes each.
  package func range(ofFrame index: Int, size: Int) -> Range<Int> {
    let start = Self.size + index * size
    return start..<start + size
  }
}
