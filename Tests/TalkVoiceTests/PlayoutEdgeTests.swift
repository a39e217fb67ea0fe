import CAllocationProbe
import TalkCore
import TalkVoice
import TalkWire
import Testing

/// What happens at the start, the end and the limits of a burst.
@Suite struct PlayoutEdgeTests {
  let frames: [[UInt8]]
  let playout: Playout
  static let vowel = (0..<48 * 2_000).map { index in
    Int16(9_000 * Platform.sine(2 * .pi * 200 * Double(index) / 48_000))
  }

  init() throws {
    frames = try Link.encode(Self.vowel, .twentyMilliseconds)
    playout = try Playout()
  }

  @discardableResult
  private func insert(_ number: Int, as sequence: UInt32? = nil, at time: Double)
    -> Playout.Insertion
  {
    frames[number].withUnsafeBytes { bytes in
      playout.insert(
        sequence: sequence ?? UInt32(number), frame: bytes, samplesPerFrame: 960,
        now: Link.instant(time))
    }
  }

  private func render(_ count: Int, at time: Double) -> [Int16] {
    var buffer = [Int16](repeating: 99, count: count)
    buffer.withUnsafeMutableBufferPointer { playout.render(into: $0, now: Link.instant(time)) }
    return buffer
  }

  private func rms(_ sound: some Sequence<Int16>) -> Double {
    let squares = sound.map { Double($0) * Double($0) }
    return (squares.reduce(0, +) / Double(max(1, squares.count))).squareRoot()
  }

  @Test func withoutABurstThereIsSilenceAndFramesAreRefused() {
    #expect(insert(0, at: 0) == .refused)
    #expect(render(480, at: 0) == [Int16](repeating: 0, count: 480))
    #expect(!playout.isActive)
  }

  @Test(arguments: [1, 37, 480, 960, 1_000, 4_800])
  func anyNumberOfSamplesCanBeRendered(count: Int) {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<10 { insert(number, at: 0) }
    playout.finish(after: 9)
    var heard: [Int16] = []
    while heard.count < 11 * 960 {
      let sound = render(count, at: Double(heard.count) / 48)
      #expect(!sound.contains(99))
      heard += sound
    }
    #expect(rms(heard[1_920..<3_840]) > 4_000)
    #expect(playout.state == .idle)
    #expect(playout.statistics.lost == 0)
  }

  @Test func aGapIsConcealedForSixtyMillisecondsThenThereIsSilence() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<10 { insert(number, at: 0) }
    insert(20, at: 0)
    var heard: [Int16] = []
    for step in 0..<30 { heard += render(480, at: Double(step) * 10) }
    // Ten frames, less what was cut out of them to catch up, then the gap.
    let end = heard.lastIndex { $0 != 0 } ?? 0
    let trimmed = Int(playout.statistics.trimmed.milliseconds * 48)
    #expect(abs(end - (9_600 + 2_880 - trimmed)) < 480)
    #expect(rms(heard[(end - 480)..<end]) < rms(heard[(end - 2_880)..<(end - 2_400)]) / 2)
    #expect(playout.state == .playing)
  }

  @Test func aBurstWithoutAnEndIsOverAfterTwoHundredMilliseconds() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<3 { insert(number, at: Double(number) * 20) }
    var states: [Playout.State] = []
    for step in 4..<40 {
      _ = render(480, at: Double(step) * 10)
      states.append(playout.state)
    }
    let idle = states.firstIndex(of: .idle).map { 40 + $0 * 10 }
    #expect(idle.map { (240...280).contains($0) } == true)
    // It goes on, with what comes next.
    #expect(insert(12, at: 500) == .accepted)
    #expect(playout.state == .buffering)
    _ = render(480, at: 540)
    #expect(playout.state == .playing)
    // What belongs to the time before stays out.
    #expect(insert(1, at: 545) == .duplicate)
  }

  @Test func aFinishedBurstDoesNotComeBack() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<5 { insert(number, at: 0) }
    playout.finish(after: 4)
    for step in 0..<20 { _ = render(480, at: Double(step) * 10) }
    #expect(playout.state == .idle)
    #expect(insert(4, at: 300) == .refused)
    #expect(insert(5, at: 300) == .refused)
    #expect(playout.state == .idle)
  }

  @Test func lostFramesAtTheEndDoNotKeepTheBurstOpen() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<5 { insert(number, at: 0) }
    playout.finish(after: 7)
    for step in 0..<20 { _ = render(480, at: Double(step) * 10) }
    #expect(playout.state == .idle)
    #expect(playout.statistics.lost == 3)
  }

  @Test func anEndBeforeAnyFrameEndsTheBurst() {
    playout.begin(Link.token, now: Link.instant(0))
    playout.finish(after: 0)
    #expect(playout.state == .idle)
  }

  @Test func aBurstThatNeverComesIsGivenUp() {
    playout.begin(Link.token, now: Link.instant(0))
    _ = render(480, at: 190)
    #expect(playout.state == .buffering)
    _ = render(480, at: 200)
    #expect(playout.state == .idle)
    #expect(insert(0, at: 250) == .accepted)
  }

  @Test func aCutFadesWithinFiveMilliseconds() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<10 { insert(number, at: 0) }
    for step in 0..<5 { _ = render(480, at: Double(step) * 10) }
    playout.cut(now: Link.instant(50))
    #expect(playout.state == .draining)
    let sound = render(480, at: 50)
    #expect(rms(sound[..<48]) > 3_000)
    #expect(rms(sound[192..<240]) < 1_500)
    #expect(sound[240...].allSatisfy { $0 == 0 })
    #expect(playout.state == .idle)
    #expect(insert(10, at: 60) == .refused)
  }

  @Test func aNewBurstHasNoTraceOfTheOneBefore() throws {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<10 { insert(number, at: 0) }
    _ = render(4_800, at: 0)
    playout.begin(TokenID(turn: 10, holder: PeerID(.zero), seat: 0), now: Link.instant(100))
    _ = render(480, at: 100)
    for number in 0..<4 { insert(number, at: 110) }
    let again = render(1_920, at: 110)
    let fresh = try Playout()
    fresh.begin(Link.token, now: Link.instant(0))
    for number in 0..<4 {
      frames[number].withUnsafeBytes { bytes in
        _ = fresh.insert(
          sequence: UInt32(number), frame: bytes, samplesPerFrame: 960, now: Link.instant(0))
      }
    }
    var expected = [Int16](repeating: 0, count: 1_920)
    expected.withUnsafeMutableBufferPointer { fresh.render(into: $0, now: Link.instant(0)) }
    #expect(again == expected)
  }

  @Test func moreThanHalfASecondIsNeverHeld() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<100 { insert(number, at: 0) }
    #expect(playout.statistics.buffered == .milliseconds(500))
    #expect(playout.statistics.trimmed == .milliseconds(1_500))
    _ = render(480, at: 10)
    #expect(playout.state == .playing)
  }

  @Test func listeningMayBeginInTheMiddleOfABurst() {
    playout.begin(Link.token, now: Link.instant(0))
    for number in 0..<5 {
      #expect(insert(number, as: 40_000 + UInt32(number), at: Double(number) * 20) == .accepted)
    }
    _ = render(480, at: 90)
    #expect(playout.state == .playing)
    #expect(playout.statistics.lost == 0)
  }

  struct Nonsense: Sendable {
    var size: Int
    var samples: Int
    static let all = [
      Nonsense(size: 0, samples: 960), Nonsense(size: 257, samples: 960),
      Nonsense(size: 60, samples: 0), Nonsense(size: 60, samples: 961),
      Nonsense(size: 60, samples: -960),
    ]
  }

  @Test(arguments: Nonsense.all) func framesThatMakeNoSenseAreRefused(nonsense: Nonsense) {
    playout.begin(Link.token, now: Link.instant(0))
    let frame = [UInt8](repeating: 8, count: nonsense.size)
    let result = frame.withUnsafeBytes { bytes in
      playout.insert(
        sequence: 0, frame: bytes, samplesPerFrame: nonsense.samples, now: Link.instant(0))
    }
    #expect(result == .refused)
  }

  @Test func randomBytesAndNumbersDoNoHarm() {
    var random = SeededGenerator(seed: 3)
    var time = 0.0
    for round in 0..<40 {
      playout.begin(Link.token, now: Link.instant(time))
      for _ in 0..<200 {
        let size = Int(random.next() % 300)
        let frame = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let spread = [UInt64(50), 5_000, 1 << 32][round % 3]
        let sequence = UInt32(truncatingIfNeeded: random.next() % spread)
        frame.withUnsafeBytes { bytes in
          _ = playout.insert(
            sequence: sequence, frame: bytes,
            samplesPerFrame: random.next() % 4 == 0 ? 480 : 960, now: Link.instant(time))
        }
        let count = Int(random.next() % 1_000)
        #expect(render(count, at: time).count == count)
        if random.next() % 50 == 0 { playout.finish(after: sequence) }
        if random.next() % 50 == 0 { playout.cut(now: Link.instant(time)) }
        #expect(playout.statistics.buffered <= .milliseconds(560))
        time += random.fraction() * 30
      }
    }
  }

  @Test(.enabled(if: talk_probe_works() != 0, "a sanitizer needs malloc for itself"))
  func nothingIsAllocatedPerFrame() throws {
    let encoder = try VoiceEncoder()
    let tones = TonePlayer()
    let frame = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 16)
    let sound = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 480)
    defer {
      frame.deallocate()
      sound.deallocate()
    }
    let speech = SyntheticSpeech.make(milliseconds: 4_000)
    var counts: (encode: UInt64, insert: UInt64, render: UInt64) = (0, 0, 0)
    try speech.withUnsafeBufferPointer { speech in
      for burst in 0..<2 {
        counts = (0, 0, 0)
        let start = Double(burst) * 10_000
        encoder.reset()
        playout.begin(Link.token, now: Link.instant(start))
        for number in 0..<200 {
          let pcm = UnsafeBufferPointer(rebasing: speech[number * 960..<(number + 1) * 960])
          let now = Link.instant(start + Double(number) * 20)
          let before = talk_probe_allocations()
          let size = encoder.encode(pcm: pcm, into: frame)
          let encoded = talk_probe_allocations()
          // Every tenth is lost, so concealment and waiting run too.
          if number % 10 != 3 {
            playout.insert(
              sequence: UInt32(number),
              frame: UnsafeRawBufferPointer(rebasing: frame[..<(size ?? 0)]),
              samplesPerFrame: 960, now: now)
          }
          let inserted = talk_probe_allocations()
          if number % 50 == 0 { tones.play(.permit) }
          for half in 0..<2 {
            playout.render(into: sound, now: now + .milliseconds(10 * half))
            tones.mix(into: sound)
          }
          let rendered = talk_probe_allocations()
          counts.encode += encoded - before
          counts.insert += inserted - encoded
          counts.render += rendered - inserted
        }
        try #require(playout.statistics.lost > 10)
      }
    }
    #expect(counts.encode == 0)
    #expect(counts.insert == 0)
    #expect(counts.render == 0)
  }

  @Test func theProbeSeesAllocations() {
    let before = talk_probe_allocations()
    let block = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 16)
    block.deallocate()
    #expect(talk_probe_works() == 0 || talk_probe_allocations() > before)
  }
}
