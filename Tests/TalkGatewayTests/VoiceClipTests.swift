import Foundation
import TalkCore
import TalkCrypto
import Testing

@testable import TalkGateway

@Suite struct VoiceClipTests {
  private func burst(_ samples: [Int16], without lost: Range<Int> = 0..<0) throws -> KeptBurst {
    var buffer = BurstBuffer()
    buffer.begin(1, now: .zero)
    for (number, frame) in try BurstSample.encode(samples).enumerated()
    where !lost.contains(number) {
      buffer.insert(1, frame: number, bytes: frame, now: .zero)
    }
    return buffer.take(BurstSample.id(1))!
  }

  private func samples(_ clip: VoiceClip) -> [Int16] {
    stride(from: 44, to: clip.wave.count, by: 2).map {
      Int16(bitPattern: UInt16(clip.wave[$0]) | UInt16(clip.wave[$0 + 1]) << 8)
    }
  }

  @Test func aShortBurstIsWhole() throws {
    let clip = try #require(
      try VoiceClip.make(of: burst(BurstSample.sound(milliseconds: 3_000))))
    #expect(clip.reference.duration == .seconds(3))
    #expect(clip.wave.count == 44 + 3 * 96_000 && clip.reference.size == clip.wave.count)
    #expect(clip.reference.burst == BurstSample.id(1))
  }

  @Test func theFileIsAWaveThatOthersRead() throws {
    let clip = try #require(
      try VoiceClip.make(of: burst(BurstSample.sound(milliseconds: 200))))
    #expect(Array(clip.wave[0..<4]) == Array("RIFF".utf8))
    #expect(Array(clip.wave[8..<16]) == Array("WAVEfmt ".utf8))
    let rate = clip.wave[24..<28].reversed().reduce(0) { $0 << 8 | Int($1) }
    let size = clip.wave[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(rate == 48_000 && size == clip.wave.count - 8)
  }

  @Test func aLongBurstIsCutInItsLastPause() throws {
    let sound = BurstSample.sound(milliseconds: 12_000, quiet: [1_000..<1_400, 4_300..<4_700])
    let clip = try #require(try VoiceClip.make(of: burst(sound)))
    #expect((4_300.0...4_720.0).contains(clip.reference.duration.milliseconds))
  }

  @Test func withoutAPauseItIsCutAllTheSameAndNeverTooLong() throws {
    let sound = BurstSample.sound(milliseconds: 12_000)
    let clip = try #require(try VoiceClip.make(of: burst(sound)))
    #expect((3_900.0...6_000.0).contains(clip.reference.duration.milliseconds))
  }

  @Test(arguments: [5_980, 6_000, 6_020])
  func sixSecondsAreTheMost(_ milliseconds: Int) throws {
    let sound = BurstSample.sound(milliseconds: milliseconds)
    let clip = try #require(try VoiceClip.make(of: burst(sound)))
    #expect(clip.reference.duration <= .seconds(6))
    if milliseconds <= 6_000 {
      #expect(clip.reference.duration == .milliseconds(milliseconds))
    }
  }

  @Test func theWordsAreTheSpokenOnesAndItEndsInSilence() throws {
    let sound = BurstSample.sound(milliseconds: 1_000, quiet: [0..<500])
    let heard = samples(try #require(try VoiceClip.make(of: burst(sound))))
    func power(_ range: Range<Int>) -> Double {
      heard[range].reduce(0.0) { $0 + Double($1) * Double($1) } / Double(range.count)
    }
    #expect(power(0..<22_000) < 100_000 && power(26_000..<46_000) > 10_000_000)
    #expect(heard.last == 0)
  }

  @Test func lostFramesAreBridgedAndLongGapsAreSilent() throws {
    let sound = BurstSample.sound(milliseconds: 2_000)
    let clip = try #require(try VoiceClip.make(of: burst(sound, without: 30..<60)))
    #expect(clip.reference.duration == .seconds(2))
    let heard = samples(clip)
    #expect(heard[40 * 960..<59 * 960].allSatisfy { $0 == 0 })
    #expect(heard[70 * 960..<80 * 960].contains { abs(Int($0)) > 3_000 })
  }

  @Test func aBurstOfWhichNothingCameHasNoClip() throws {
    var buffer = BurstBuffer()
    buffer.begin(1, now: .zero)
    let burst = try #require(buffer[BurstSample.id(1)])
    let clip = try VoiceClip.make(of: burst)
    #expect(clip == nil)
  }

  @Test func hostileFramesDecodeToSilenceNotToAnError() throws {
    var buffer = BurstBuffer()
    buffer.begin(1, now: .zero)
    var generator = SeededGenerator(seed: 9)
    for number in 0..<200 {
      let size = Int(generator.next() % 256) + 1
      let bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      buffer.insert(1, frame: number, bytes: bytes, now: .zero)
    }
    let burst = try #require(buffer[BurstSample.id(1)])
    let clip = try #require(try VoiceClip.make(of: burst))
    #expect(clip.reference.duration == .seconds(4))
  }

  @Test func theHashIsSHA256() {
    let hash = SHA256.hash(Array("abc".utf8)).prefix(4)
    #expect(Array(hash) == [0xba, 0x78, 0x16, 0xbf])
  }
}
