import TalkCore
import Testing

@Suite struct InstantTests {
  @Test func additionSaturatesAtBothEnds() {
    #expect(Instant.zero - .seconds(1) == .zero)
    #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
    #expect(Instant.zero + .milliseconds(5) == Instant(nanoseconds: 5_000_000))
  }

  @Test func differenceIsSigned() {
    let early = Instant(nanoseconds: 1_000)
    let late = Instant(nanoseconds: 4_000)
    #expect(early - late == .nanoseconds(-3_000))
    #expect(late - early == .nanoseconds(3_000))
  }
}
