import TalkCore
import TalkVoice
import TalkWire
import Testing

@Suite struct VoiceEncoderTests {
  @Test(arguments: FrameLength.allCases)
  func everyFrameHasTheSameSize(length: FrameLength) throws {
    let silence = [Int16](repeating: 0, count: 48_000)
    let sound = SyntheticSpeech.make(milliseconds: 2_000) + silence
    let sizes = try Link.encode(sound, length).map(\.count)
    #expect(Set(sizes) == [length == .twentyMilliseconds ? 60 : 30])
  }

  @Test func aResetLeavesNoTraceOfTheBurstBefore() throws {
    let encoder = try VoiceEncoder()
    let sound = SyntheticSpeech.make(milliseconds: 500)
    func encode() -> [[UInt8]] {
      encoder.reset()
      return (0..<20).map { index in
        var frame = [UInt8](repeating: 0, count: 60)
        _ = sound[index * 960..<(index + 1) * 960].withUnsafeBufferPointer { pcm in
          frame.withUnsafeMutableBytes { encoder.encode(pcm: pcm, into: $0) }
        }
        return frame
      }
    }
    let first = encode()
    #expect(encode() == first)
  }

  @Test func wrongSizesAreRefused() throws {
    let encoder = try VoiceEncoder()
    for (samples, room) in [(0, 100), (959, 100), (1_920, 100), (960, 59), (480, 29)] {
      let sound = [Int16](repeating: 0, count: samples)
      var frame = [UInt8](repeating: 0, count: room)
      let size = sound.withUnsafeBufferPointer { pcm in
        frame.withUnsafeMutableBytes { encoder.encode(pcm: pcm, into: $0) }
      }
      #expect(size == nil)
    }
  }

  @Test func theLookaheadIsSixAndAHalfMilliseconds() throws {
    #expect(try VoiceEncoder().lookahead == 312)
  }
}

@Suite struct LevelAndToneTests {
  @Test func levelsAreInDecibelsOfFullScale() {
    func level(_ sound: [Int16]) -> SoundLevel {
      sound.withUnsafeBufferPointer { LevelMeter.measure($0) }
    }
    #expect(level([]) == .silence)
    #expect(level([0, 0]) == .silence)
    #expect(abs(level([.min, .min]).peak) < 0.001)
    #expect(abs(level([16_384, -16_384]).rms + 6.02) < 0.01)
    #expect(abs(level([16_384, 0, 0, 0]).rms + 12.04) < 0.01)
  }

  @Test func addingStaysWithinSixteenBits() {
    var target: [Int16] = [30_000, -30_000, 5, 6]
    let source: [Int16] = [10_000, -10_000, 1]
    target.withUnsafeMutableBufferPointer { target in
      source.withUnsafeBufferPointer { Mix.add($0, into: target) }
    }
    #expect(target == [.max, .min, 6, 6])
  }

  /// The pitch of the first and of the last note, by zero crossings.
  private func pitches(_ sound: [Int16]) -> (Double, Double) {
    func pitch(_ part: some Collection<Int16>) -> Double {
      let crossings = zip(part, part.dropFirst()).count { $0 < 0 && $1 >= 0 }
      return Double(crossings) * 48_000 / Double(part.count)
    }
    return (pitch(sound.prefix(2_400)), pitch(sound.suffix(2_640).prefix(2_400)))
  }

  private func render(_ tone: Tone) -> [Int16] {
    let player = TonePlayer()
    player.play(tone)
    var sound: [Int16] = []
    while player.isPlaying {
      var part = [Int16](repeating: 0, count: 480)
      part.withUnsafeMutableBufferPointer { player.mix(into: $0) }
      sound += part
    }
    let length = Int(player.duration(of: tone).milliseconds * 48)
    return Array(sound.prefix(length))
  }

  @Test(arguments: Tone.allCases) func tonesBelongToTheirFamily(tone: Tone) {
    let sound = render(tone)
    let (first, last) = pitches(sound)
    switch tone {
    case .permit, .free, .came: #expect(last > first * 1.15)
    case .left: #expect(last < first * 0.9)
    case .cut: #expect(last < first * 0.7)
    case .busy, .unheard: #expect(abs(last - first) < 60 && first < 400)
    case .queued, .limitWarning: #expect(abs(last - first) < 60 && first > 500)
    }
    #expect(sound.map { abs(Int($0)) }.max()! < 8_400)
    #expect(abs(Int(sound[0])) < 50 && abs(Int(sound[sound.count - 1])) < 50)
  }

  @Test(arguments: [(0.0, 0), (0.5, 4_096), (1.0, 8_192), (3.98, 32_604), (100.0, 32_604)])
  func tonesAreAsLoudAsWanted(gain: Double, peak: Int) {
    let player = TonePlayer(gain: gain)
    player.play(.unheard)
    var loudest = 0
    while player.isPlaying {
      var part = [Int16](repeating: 0, count: 480)
      part.withUnsafeMutableBufferPointer { player.mix(into: $0) }
      loudest = max(loudest, part.map { abs(Int($0)) }.max()!)
    }
    #expect(abs(loudest - peak) <= peak / 50 + 1)
  }

  @Test func theNewestToneTakesThePlaceOfTheOneBefore() {
    let player = TonePlayer()
    var part = [Int16](repeating: 0, count: 480)
    player.play(.unheard)
    part.withUnsafeMutableBufferPointer { player.mix(into: $0) }
    player.play(.permit)
    var alone = [Int16](repeating: 0, count: 480)
    alone.withUnsafeMutableBufferPointer { player.mix(into: $0) }
    #expect(alone == Array(render(.permit).prefix(480)))
    player.stop()
    #expect(!player.isPlaying)
  }
}
