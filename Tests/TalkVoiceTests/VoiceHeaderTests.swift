import TalkCore
import TalkWire
import Testing

@Suite struct VoiceHeaderTests {
  private func bytes(_ header: VoiceHeader) -> [UInt8] {
    var result = [UInt8](repeating: 0xee, count: VoiceHeader.size)
    var span = result.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    header.write(to: &writer)
    #expect(!writer.failed && writer.remaining == 0)
    return result
  }

  private func read(_ bytes: [UInt8]) -> VoiceHeader? {
    var reader = ByteReader(bytes.span.bytes)
    return VoiceHeader(from: &reader)
  }

  static let sample = VoiceHeader(
    turn: 0x0605_0403_0201, seat: 0x0807, sequence: 0x0c0b_0a09, floorClass: .emergency,
    isLast: true, frameLength: .tenMilliseconds, frameCount: 3, copyDistance: 2)

  @Test func theLayoutIsAsWritten() {
    #expect(
      bytes(Self.sample) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x83, 0x01, 3, 2])
    #expect(read(bytes(Self.sample)) == Self.sample)
  }

  struct Broken: Sendable {
    var index: Int
    var value: UInt8
    static let all = [
      Broken(index: 12, value: 0x04), Broken(index: 12, value: 0x40),
      Broken(index: 13, value: 2), Broken(index: 13, value: 0x10),
      Broken(index: 14, value: 0), Broken(index: 14, value: 17),
    ]
  }

  @Test(arguments: Broken.all) func fieldsWithoutMeaningAreRefused(broken: Broken) {
    var bytes = bytes(Self.sample)
    bytes[broken.index] = broken.value
    #expect(read(bytes) == nil)
  }

  @Test func tooFewBytesAreRefused() {
    for count in 0..<VoiceHeader.size { #expect(read(Array(bytes(Self.sample)[..<count])) == nil) }
  }

  @Test func copiesHaveOlderNumbersAndPackedFramesNewerOnes() {
    var header = Self.sample
    header.sequence = 10
    #expect((0..<3).map { header.sequence(ofFrame: $0) } == [10, 8, 6])
    #expect(header.newestSequence == 10)
    header.copyDistance = 0
    #expect((0..<3).map { header.sequence(ofFrame: $0) } == [10, 11, 12])
    #expect(header.newestSequence == 12)
  }

  @Test func numbersOutsideThirtyTwoBitsAreRefused() {
    var header = Self.sample
    header.sequence = 3
    #expect(read(bytes(header)) == nil)
    header.sequence = 4
    #expect(read(bytes(header)) != nil)
    header.copyDistance = 0
    header.sequence = .max - 1
    #expect(read(bytes(header)) == nil)
    header.sequence = .max - 2
    #expect(read(bytes(header)) != nil)
  }

  @Test func allFramesOfAPacketAreEquallyLong() {
    let header = Self.sample
    #expect(header.frameSize(bodyCount: 16 + 90) == 30)
    #expect(header.frameSize(bodyCount: 16 + 91) == nil)
    #expect(header.frameSize(bodyCount: 16) == nil)
    #expect(header.frameSize(bodyCount: 0) == nil)
    #expect(header.frameSize(bodyCount: 16 + 3 * 256) == 256)
    #expect(header.frameSize(bodyCount: 16 + 3 * 257) == nil)
    #expect(header.range(ofFrame: 2, size: 30) == 76..<106)
  }
}
