import TalkCore
import TalkNode
import Testing

/// The key is a level: who holds it, for which channel, and what happens when nobody says so.
@Suite struct KeyTableTests {
  private let first = ChannelID(Bytes16(high: 1, low: 0))
  private let second = ChannelID(Bytes16(high: 2, low: 0))
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func target(_ channel: ChannelID) -> KeyTable.Target {
    KeyTable.Target(channel: channel, floorClass: .normal)
  }

  private func expectDown(
    _ keys: inout KeyTable, _ source: PressSource, _ target: KeyTable.Target, now: Instant
  ) {
    let accepted = keys.assert(source, target, now: now)
    #expect(accepted)
  }

  private func expectRefused(
    _ keys: inout KeyTable, _ source: PressSource, _ target: KeyTable.Target, now: Instant
  ) {
    let accepted = keys.assert(source, target, now: now)
    #expect(!accepted)
  }

  @Test func aLevelThatNobodyAssertsIsUpAfterHalfASecond() {
    var keys = KeyTable()
    expectDown(&keys, PressSource(id: 1), target(first), now: start)
    keys.expire(now: start + .milliseconds(499))
    #expect(keys.target != nil)
    #expect(keys.deadline == start + .milliseconds(500))
    keys.expire(now: start + .milliseconds(500))
    #expect(keys.target == nil)
  }

  @Test func anAssertedLevelStaysDown() {
    var keys = KeyTable()
    for step in 0..<10 {
      let now = start + .milliseconds(200) * step
      keys.expire(now: now)
      expectDown(&keys, PressSource(id: 1), target(first), now: now)
    }
    #expect(keys.target == target(first))
  }

  @Test func theLatchNeedsNoAssertion() {
    var keys = KeyTable()
    expectDown(&keys, .latch, target(first), now: start)
    keys.expire(now: start + .seconds(3_600))
    #expect(keys.isDown(.latch))
  }

  @Test func holdingBWhileLatchedOnAFallsBackToA() {
    var keys = KeyTable()
    expectDown(&keys, .latch, target(first), now: start)
    expectDown(&keys, PressSource(id: 5), target(second), now: start)
    #expect(keys.target == target(second))
    keys.release(PressSource(id: 5))
    #expect(keys.target == target(first))
  }

  @Test func moreThanSixtyFourKeysAtOnceAreRefused() {
    var keys = KeyTable()
    for id in 1...64 {
      expectDown(&keys, PressSource(id: UInt64(id)), target(first), now: start)
    }
    expectRefused(&keys, PressSource(id: 65), target(first), now: start)
    expectDown(&keys, PressSource(id: 64), target(first), now: start)
  }

  @Test func leavingAChannelLiftsItsKeysAlone() {
    var keys = KeyTable()
    expectDown(&keys, PressSource(id: 1), target(first), now: start)
    expectDown(&keys, PressSource(id: 2), target(second), now: start)
    keys.releaseAll(on: second)
    #expect(keys.target == target(first))
  }
}
