package import TalkCore
package import TalkWire

/// The frames of one burst, from the first, in memory that grows by whole chunks.
package struct KeptBurst: Sendable {
  /// The most frames of a burst: 64 s of 10 ms, more than the talk limit with its grace.
  package static let frameLimit = 6_400
  /// Memory is taken in pieces of so many bytes.
  static let chunkSize = 16 * 1_024

  private struct Slot {
    var chunk: UInt16 = 0
    var offset: UInt16 = 0
    /// 0: the frame has not come.
    var size: UInt16 = 0
  }

  /// Which burst.
  package let id: BurstID
  /// On which mesh channel.
  package let channel: ChannelID
  /// Turn, holder and seat, as voice packets name it.
  package let token: TokenID
  /// Its class.
  package let floorClass: FloorClass
  /// What its speaker is called.
  package let name: String
  /// The place among all bursts of this gateway.
  package let order: UInt64
  /// How much sound a frame holds; the first frame settles it.
  package private(set) var frameLength = FrameLength.twentyMilliseconds
  /// One more than the highest number that came.
  package private(set) var frameCount: UInt32 = 0
  /// The number of the last frame and when the burst ended, once it did. No last frame: none came.
  package internal(set) var ended: (lastFrame: UInt32?, at: Instant)?
  /// When the newest frame came.
  package internal(set) var lastHeard: Instant

  private var slots: [Slot] = []
  private var chunks: [[UInt8]] = []

  init(
    id: BurstID, channel: ChannelID, token: TokenID, floorClass: FloorClass, name: String,
    order: UInt64, now: Instant
  ) {
    (self.id, self.channel, self.token, self.floorClass) = (id, channel, token, floorClass)
    (self.name, self.order, lastHeard) = (name, order, now)
  }

  /// Bytes of memory that the frames take.
  var memory: Int {
    chunks.count * Self.chunkSize + slots.capacity * MemoryLayout<Slot>.stride
  }

  /// The memory that one more frame could take: a chunk, and a doubling of the index.
  var growth: Int { Self.chunkSize + max(16, slots.capacity) * MemoryLayout<Slot>.stride }

  /// Keeps a frame; false for a number beyond the limit or the end, another length of sound, no
  /// bytes or too many, or one that is there.
  mutating func insert(
    _ number: UInt32, _ length: FrameLength, _ frame: UnsafeRawBufferPointer
  ) -> Bool {
    guard number < Self.frameLimit, (1...VoiceHeader.frameSizeLimit).contains(frame.count),
      frameCount == 0 || length == frameLength, ended?.lastFrame.map({ number <= $0 }) ?? true
    else { return false }
    let index = Int(number)
    if index < slots.count, slots[index].size != 0 { return false }
    frameLength = length
    while slots.count <= index { slots.append(Slot()) }
    if chunks.last.map({ $0.count + frame.count > Self.chunkSize }) ?? true {
      chunks.append([])
      chunks[chunks.count - 1].reserveCapacity(Self.chunkSize)
    }
    let last = chunks.count - 1
    slots[index] = Slot(
      chunk: UInt16(last), offset: UInt16(chunks[last].count), size: UInt16(frame.count))
    unsafe chunks[last].append(contentsOf: frame)
    frameCount = max(frameCount, number + 1)
    return true
  }

  /// True when the frame is there.
  package func contains(_ number: UInt32) -> Bool {
    number < UInt32(slots.count) && slots[Int(number)].size != 0
  }

  /// The bytes of a frame; nil when it has not come.
  package func frame(_ number: UInt32) -> ArraySlice<UInt8>? {
    guard contains(number) else { return nil }
    let slot = slots[Int(number)]
    let start = Int(slot.offset)
    return chunks[Int(slot.chunk)][start..<start + Int(slot.size)]
  }

  /// How long the burst is, as far as it came.
  package var duration: Duration { frameLength.duration * Int(frameCount) }
}
