import Testing

/// The yardstick itself, on sounds whose faults are known.
@Suite struct SimilarityTests {
  /// Ten seconds of real speech each, other words.
  private static let speech = try? Speech.make(seconds: 10, seed: 1)
  private static let otherSpeech = try? Speech.make(seconds: 10, seed: 2)

  private func spoken() throws -> Clip { try #require(Self.speech, "Tools/setup installs speech") }

  /// The speech from a loud sample to a loud sample, so that its ends are where the file's are.
  private func loudFromEndToEnd() throws -> Clip {
    let clip = try spoken()
    let first = try #require(clip.samples.firstIndex { $0 > 6_000 })
    let last = try #require(clip.samples.lastIndex { $0 > 6_000 })
    return Clip(samples: Array(clip.samples[first...last]))
  }

  private func delayed(_ clip: Clip, seconds: Double, gain: Double = 1) -> Clip {
    let silence = [Int16](repeating: 0, count: Int(seconds * Clip.rate))
    let louder = clip.samples.map { Int16(clamping: Int(Double($0) * gain)) }
    return Clip(samples: silence + louder + silence, start: clip.start)
  }

  @Test func theSameSoundIsWhollyThere() throws {
    let clip = try spoken()
    let same = Similarity(spoken: clip, heard: clip)
    #expect(same.median > 0.999 && same.first > 0.999 && same.last > 0.999, "\(same)")
    #expect(same.badWindows == 0 && same.windows.count > 40, "\(same)")
    #expect(same.headMissing == 0 && same.tailMissing == 0 && same.longestHole == 0, "\(same)")
    #expect(abs(same.delay) < 0.000_1, "\(same)")
  }

  @Test(arguments: [0.000_5, 0.020_01, 0.083_33, 0.4, 0.97])
  func aDelayIsMeasuredAndDoesNotMatter(seconds: Double) throws {
    let clip = try spoken()
    let late = Similarity(spoken: clip, heard: delayed(clip, seconds: seconds, gain: 0.3))
    #expect(late.median > 0.98 && late.first > 0.98 && late.last > 0.98, "\(late)")
    #expect(abs(late.delay - seconds) < 0.000_1, "\(late)")
    #expect(late.headMissing == 0 && late.tailMissing == 0 && late.longestHole == 0, "\(late)")
  }

  @Test func theClipsOwnClocksCount() throws {
    var clip = try spoken()
    clip.start = 500
    var heard = delayed(clip, seconds: 1.5)
    heard.start = 498.6
    let similarity = Similarity(spoken: clip, heard: heard)
    #expect(abs(similarity.delay - 0.1) < 0.000_1 && similarity.median > 0.99, "\(similarity)")
  }

  @Test(arguments: [20, 100, 400])
  func whatIsMissingAtTheHeadIsFound(milliseconds: Int) throws {
    let clip = try loudFromEndToEnd()
    var heard = clip
    for index in 0..<milliseconds * 48 { heard.samples[index] = 0 }
    let similarity = Similarity(spoken: clip, heard: heard)
    // A pause may follow the hole.
    let seconds = Double(milliseconds) / 1_000
    #expect(similarity.headMissing >= seconds - 0.01, "\(similarity)")
    #expect(similarity.headMissing <= seconds + 0.12, "\(similarity)")
    #expect(similarity.tailMissing == 0 && similarity.median > 0.99, "\(similarity)")
    if milliseconds >= 100 { #expect(similarity.first < 0.99, "\(similarity)") }
  }

  @Test func whatIsMissingAtTheTailAndInTheMiddleIsFound() throws {
    let clip = try loudFromEndToEnd()
    var heard = clip
    for index in clip.samples.indices.suffix(100 * 48) { heard.samples[index] = 0 }
    let loudest = try #require(
      (96_000..<200_000).max { clip.samples[$0] < clip.samples[$1] })
    for index in loudest - 50 * 48..<loudest + 50 * 48 { heard.samples[index] = 0 }
    let similarity = Similarity(spoken: clip, heard: heard)
    #expect((0.07...0.13).contains(similarity.tailMissing), "\(similarity)")
    #expect((0.06...0.11).contains(similarity.longestHole), "\(similarity)")
    #expect(similarity.headMissing == 0, "\(similarity)")
  }

  @Test func otherWordsAndReversedWordsAreNotAlike() throws {
    let clip = try spoken()
    let other = try #require(Self.otherSpeech)
    let reversed = Clip(samples: clip.samples.reversed())
    #expect(Similarity(spoken: clip, heard: other).median < 0.5)
    #expect(Similarity(spoken: clip, heard: reversed).median < 0.5)
    let silence = Similarity(
      spoken: clip, heard: Clip(samples: [Int16](repeating: 0, count: 480_000)))
    #expect(silence.median == 0 && silence.headMissing > 5, "\(silence)")
  }

  @Test func aStepOfTimeStretchingDoesNotRuinTheFigure() throws {
    let clip = try spoken()
    var heard = clip
    heard.samples.removeSubrange(200_000..<200_000 + 15 * 48)
    let similarity = Similarity(spoken: clip, heard: heard)
    #expect(similarity.median > 0.99 && similarity.badWindows <= 1, "\(similarity)")
  }

  @Test func oneVoiceAfterAnotherIsNoOverlap() throws {
    let first = try spoken()
    let second = try #require(Self.otherSpeech)
    let change = 240_000
    var ear = first
    for index in change..<ear.samples.count where index < second.samples.count {
      ear.samples[index] = second.samples[index]
    }
    let listening = Listening(
      ear: delayed(ear, seconds: 0.06), mouths: [first, second], delays: 0.03...0.09)
    #expect(listening.overlaps == [])
    let heard = listening.runs.filter { $0.to - $0.from > 0.5 }
    #expect(heard.first?.voice == 0 && heard.last?.voice == 1)
    #expect(heard.allSatisfy { abs($0.delay - 0.06) < 0.001 })
  }

  @Test func aVoiceWithConcealedLossesIsNotTwoVoices() throws {
    let first = try spoken()
    let second = try #require(Self.otherSpeech)
    var ear = first
    let frame = 960
    // One frame in ten is lost: the one before is repeated, less loud.
    for start in stride(from: frame, to: ear.samples.count - frame, by: frame)
    where (start / frame * 7 + start / frame / 10) % 10 == 0 {
      for index in start..<start + frame { ear.samples[index] = ear.samples[index - frame] / 2 }
    }
    let listening = Listening(
      ear: delayed(ear, seconds: 0.06), mouths: [first, second], delays: 0.03...0.3)
    #expect(listening.overlaps == [])
    let voiced = listening.moments.filter { $0.voice == 0 }
    #expect(voiced.count > listening.moments.count * 9 / 10)
  }

  @Test func twoVoicesAtOnceAreFound() throws {
    let first = try spoken()
    let second = try #require(Self.otherSpeech)
    var ear = first
    for index in 240_000..<264_000 {
      ear.samples[index] = Int16(clamping: Int(ear.samples[index]) + Int(second.samples[index]))
    }
    let listening = Listening(
      ear: delayed(ear, seconds: 0.06), mouths: [first, second], delays: 0.03...0.09)
    #expect(listening.overlaps.count >= 1)
    #expect(listening.overlaps.allSatisfy { (4.9...5.6).contains($0) }, "\(listening.overlaps)")
  }
}
