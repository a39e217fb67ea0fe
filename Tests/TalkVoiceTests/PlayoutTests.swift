import CAllocationProbe
import TalkCore
import TalkVoice
import TalkWire
import Testing

@Suite struct PlayoutTests {
  static let speech = SyntheticSpeech.make(milliseconds: 6_000)

  @Test(arguments: FrameLength.allCases)
  func speechComesOutAsItWentIn(length: FrameLength) throws {
    let outcome = try Link(length: length).run(Link.encode(Self.speech, length))
    let likeness = Likeness.measure(Self.speech, outcome.heard, shift: 2_400, slack: 1_440)
    #expect(likeness > 0.95)
    #expect(outcome.statistics.lost == 0)
    #expect(outcome.statistics.concealed == .zero)
    #expect(outcome.state == .idle)
  }

  @Test func theFirstFrameIsHeardFortyMillisecondsAfterItArrives() throws {
    let frames = try Link.encode(Self.speech, .twentyMilliseconds)
    let playout = try Playout()
    playout.begin(Link.token, now: Link.instant(0))
    var buffer = [Int16](repeating: 0, count: 480)
    var states: [Playout.State] = []
    for step in 0..<6 {
      if step % 2 == 0 {
        frames[step / 2].withUnsafeBytes { bytes in
          _ = playout.insert(
            sequence: UInt32(step / 2), frame: bytes, samplesPerFrame: 960,
            now: Link.instant(Double(step) * 10))
        }
      }
      buffer.withUnsafeMutableBufferPointer {
        playout.render(into: $0, now: Link.instant(Double(step) * 10))
      }
      states.append(playout.state)
    }
    #expect(states == [.buffering, .buffering, .buffering, .buffering, .playing, .playing])
  }

  @Test(arguments: [60.0, 140, 300])
  func keptFramesAllComeOutAndTheDelayGoesBack(backlog: Double) throws {
    let frames = try Link.encode(SyntheticSpeech.make(milliseconds: 12_000), .twentyMilliseconds)
    let outcome = try Link(grantAt: backlog).run(frames)
    #expect(outcome.statistics.lost == 0)
    #expect(outcome.statistics.received == frames.count)
    let first = outcome.heard.firstIndex { abs(Int($0)) > 200 } ?? 0
    #expect(Double(first) / 48 < backlog + 40 + 40)
    #expect(outcome.delays.last.map { $0 <= 45 } == true)
    let settled = outcome.delays.firstIndex { $0 <= 60 } ?? .max
    #expect(settled * 20 < 3_000)
  }

  @Test func theFirstWordIsWholeAfterALump() throws {
    let sound = SyntheticSpeech.make(milliseconds: 4_000)
    let outcome = try Link(grantAt: 300).run(Link.encode(sound, .twentyMilliseconds))
    let head = Array(sound.prefix(9_600 * 2))
    #expect(Likeness.measure(head, outcome.heard, shift: 301 * 48, slack: 4_800) > 0.8)
  }

  @Test func endlessSpeechWithoutPausesIsShortenedAtMostOnceInTenFrames() throws {
    // A steady vowel: nothing in it is a pause.
    let vowel = (0..<48 * 8_000).map { index in
      Int16(6_000 * Platform.sine(2 * .pi * 140 * Double(index) / 48_000))
    }
    let outcome = try Link(grantAt: 300).run(Link.encode(vowel, .twentyMilliseconds))
    #expect(outcome.statistics.lost == 0)
    #expect(outcome.delays.last.map { $0 <= 65 } == true)
    // 20 ms at most each 200 ms: the 230 ms too much take at least 2.3 s, and at most twice that.
    let settled = (outcome.delays.firstIndex { $0 <= 65 } ?? .max / 20) * 20
    #expect((2_300...4_600).contains(settled))
    // No cut is heard: a 140 Hz sine of this strength moves by at most 110 a sample.
    var steepest = 0
    for index in 48 * 500..<48 * 7_000 {
      steepest = max(steepest, abs(Int(outcome.heard[index]) - Int(outcome.heard[index - 1])))
    }
    #expect(steepest < 400)
  }

  @Test func reorderedAndRepeatedFramesDoNoHarm() throws {
    let network = Link.Network(base: 5, jitter: 35, duplicates: 0.3)
    let outcome = try Link(network: network).run(Link.encode(Self.speech, .twentyMilliseconds))
    #expect(outcome.statistics.duplicates > 50)
    #expect(outcome.statistics.received == 300)
    #expect(outcome.statistics.lost <= 6)
    #expect(Likeness.measure(Self.speech, outcome.heard, shift: 2_880, slack: 1_920) > 0.9)
  }

  @Test func fiveMinutesOfLossAndJitterNeverLetTheDelayGrow() throws {
    let speech = SyntheticSpeech.make(milliseconds: 20_000)
    let once = try Link.encode(speech, .twentyMilliseconds)
    let frames = (0..<15).flatMap { _ in once }
    let network = Link.Network(base: 10, jitter: 20, loss: 0.05)
    let outcome = try Link(network: network).run(frames)
    let settled = outcome.delays.dropFirst(100)
    #expect(settled.max()! <= 90)
    #expect(mean(settled.suffix(3_000)) <= mean(settled.prefix(3_000)) + 5)
    #expect(mean(settled) <= 60)
    #expect(Double(outcome.statistics.lost) / Double(frames.count) < 0.08)
    #expect(Likeness.measure(speech, outcome.heard, shift: 2_880, slack: 2_880) > 0.85)
  }

  @Test func copiesTakeThePlaceOfLostFramesForFortyMillisecondsMore() throws {
    let sound = SyntheticSpeech.make(milliseconds: 20_000)
    let frames = try Link.encode(sound, .twentyMilliseconds)
    let network = Link.Network(base: 5, jitter: 5, loss: 0.1)
    let without = try Link(network: network).run(frames)
    let with = try Link(network: network, copyDistance: 2).run(frames)
    #expect(without.statistics.lost > 80)
    #expect(with.statistics.lost < without.statistics.lost / 4)
    #expect(mean(with.delays.dropFirst(100)) < mean(without.delays.dropFirst(100)) + 60)
  }

  @Test func heavyJitterKeepsTheDelayBelowThreeHundredMilliseconds() throws {
    let once = try Link.encode(SyntheticSpeech.make(milliseconds: 20_000), .twentyMilliseconds)
    let frames = (0..<15).flatMap { _ in once }
    let network = Link.Network(base: 50, jitter: 450, loss: 0.02)
    let outcome = try Link(network: network).run(frames)
    #expect(outcome.delays.dropFirst(250).max()! <= 300)
    #expect(outcome.mostBuffered <= 500)
    #expect(outcome.state == .idle)
  }

  @Test func lumpsOfAFifthOfASecondComeOutWhole() throws {
    let network = Link.Network(base: 1, lump: 180)
    let sound = SyntheticSpeech.make(milliseconds: 20_000)
    let outcome = try Link(network: network).run(Link.encode(sound, .twentyMilliseconds))
    #expect(outcome.statistics.lost < 25)
    #expect(outcome.delays.dropFirst(100).max()! <= 260)
  }

  @Test func aPathThatGetsLongerCostsHalfASecondAndNoMore() throws {
    let network = Link.Network(base: 5, jitter: 5, changeAt: 4_000, change: 400)
    let sound = SyntheticSpeech.make(milliseconds: 12_000)
    let outcome = try Link(network: network).run(Link.encode(sound, .twentyMilliseconds))
    #expect(outcome.statistics.lost <= 50)
    #expect(outcome.delays.last.map { $0 <= 470 } == true)
  }

  private func mean(_ values: some Collection<Double>) -> Double {
    values.reduce(0, +) / Double(max(1, values.count))
  }
}
