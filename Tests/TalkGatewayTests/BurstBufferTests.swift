import TalkCore
import TalkWire
import Testing

@testable import TalkGateway

@Suite struct BurstBufferTests {
  private let start = Instant.zero + .seconds(100)
  private var buffer = BurstBuffer()

  @Test mutating func everyFrameIsThereFromTheFirstOneInWhateverOrderTheyCome() throws {
    buffer.begin(1, now: start)
    var generator = SeededGenerator(seed: 3)
    for frame in (0..<3_000).shuffled(using: &generator) {
      let kept = buffer.insert(1, frame: frame, now: start)
      #expect(kept)
    }
    let burst = try #require(buffer[BurstSample.id(1)])
    #expect(burst.frameCount == 3_000 && burst.duration == .seconds(60))
    for frame in 0..<3_000 {
      #expect(burst.frame(UInt32(frame)).map(Array.init) == BurstSample.frame(frame))
    }
    #expect(burst.frame(3_000) == nil && burst.frame(.max) == nil)
    // 60 s are 180 kB of voice; the index and the unused rest of chunks are the price.
    #expect(buffer.memory < 260_000)
  }

  @Test mutating func whatCannotBeAFrameIsNotKept() {
    buffer.begin(1, now: start)
    let taken = [
      buffer.insert(1, frame: 0, now: start),
      buffer.insert(1, frame: 0, now: start),
      buffer.insert(1, frame: 1, bytes: [], now: start),
      buffer.insert(1, frame: 1, bytes: [UInt8](repeating: 1, count: 257), now: start),
      buffer.insert(1, frame: 1, bytes: [UInt8](repeating: 1, count: 256), now: start),
      buffer.insert(1, frame: 2, length: .tenMilliseconds, now: start),
      buffer.insert(1, frame: KeptBurst.frameLimit - 1, now: start),
      buffer.insert(1, frame: KeptBurst.frameLimit, now: start),
      buffer.insert(2, frame: 0, now: start),
      buffer.begin(1, now: start),
    ]
    #expect(taken == [true, false, false, false, true, false, true, false, false, false])
  }

  @Test mutating func aBurstStaysForThirtySecondsAfterItsEnd() {
    buffer.begin(1, now: start)
    buffer.insert(1, frame: 0, now: start)
    buffer.end(BurstSample.id(1), lastFrame: 0, now: start)
    #expect(buffer.bursts(on: Sample.channel, now: start + .milliseconds(29_999)).count == 1)
    #expect(buffer.bursts(on: Sample.channel, now: start + .seconds(30)).isEmpty)
    // It can still become a clip, and then is gone with its memory.
    let silent = buffer.wake(now: start + .seconds(30))
    #expect(silent.isEmpty && buffer[BurstSample.id(1)] != nil)
    #expect(buffer.deadline == start + .seconds(32))
    _ = buffer.wake(now: start + .seconds(32))
    #expect(buffer[BurstSample.id(1)] == nil && buffer.memory == 0 && buffer.deadline == nil)
  }

  @Test mutating func aFrameBehindTheReleaseIsTakenUpToTheLastOne() {
    buffer.begin(1, now: start)
    buffer.insert(1, frame: 0, now: start)
    buffer.end(BurstSample.id(1), lastFrame: 2, now: start)
    let taken = (1...3).map { buffer.insert(1, frame: $0, now: start) }
    #expect(taken == [true, true, false])
  }

  @Test mutating func aSpeakerThatDiesEndsItsBurst() {
    buffer.begin(1, now: start)
    buffer.insert(1, frame: 5, now: start + .seconds(1))
    let early = buffer.wake(now: start + .milliseconds(2_999))
    let late = buffer.wake(now: start + .seconds(3))
    #expect(early.isEmpty && late == [BurstSample.id(1)])
    #expect(buffer[BurstSample.id(1)]?.ended?.lastFrame == 5)
    let again = buffer.wake(now: start + .seconds(4))
    #expect(again.isEmpty)
  }

  @Test mutating func burstsComeInTheOrderInWhichTheyBegan() {
    for number in [5, 2, 9] {
      buffer.begin(number, now: start)
      buffer.end(BurstSample.id(number), lastFrame: nil, now: start)
    }
    #expect(buffer.bursts(on: Sample.channel, now: start) == [5, 2, 9].map(BurstSample.id))
    #expect(buffer.bursts(on: ChannelID(.zero), now: start).isEmpty)
  }

  @Test func memoryIsBoundedAndTheOldestThatEndedIsGivenUp() {
    let limit = 1 << 20
    var buffer = BurstBuffer(memoryLimit: limit)
    for number in 1...20 {
      buffer.begin(number, now: start)
      for frame in 0..<1_500 {
        buffer.insert(number, frame: frame, now: start)
        #expect(buffer.memory <= limit)
      }
      buffer.end(BurstSample.id(number), lastFrame: 1_499, now: start)
    }
    #expect(buffer.counts.refusedFrames == 0 && buffer.counts.evicted > 10)
    #expect(buffer[BurstSample.id(1)] == nil && buffer[BurstSample.id(20)]?.frameCount == 1_500)
  }

  @Test func runningBurstsAreNotGivenUpButRefuseWhatFindsNoRoom() {
    var buffer = BurstBuffer(memoryLimit: 200_000)
    buffer.begin(1, now: start)
    for frame in 0..<3_000 { buffer.insert(1, frame: frame, now: start) }
    #expect(buffer.memory <= 200_000 && buffer.counts.refusedFrames > 0)
    #expect(buffer[BurstSample.id(1)]?.contains(0) == true)
    // A gap is no end: what comes once there is room again is kept.
    #expect(buffer.counts.evicted == 0)
  }

  @Test mutating func thereAreOnlySoManyBursts() {
    for number in 1...BurstBuffer.burstLimit { buffer.begin(number, now: start) }
    let refused = buffer.begin(0, now: start)
    buffer.end(BurstSample.id(7), lastFrame: nil, now: start)
    let taken = buffer.begin(0, now: start)
    #expect(!refused && taken && buffer[BurstSample.id(7)] == nil)
    #expect(buffer.counts.refusedBursts == 1)
  }
}
