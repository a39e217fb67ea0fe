import TalkCore
import TalkMesh
import Testing

private let start = Instant(nanoseconds: 1_000_000_000_000)

@Suite("When to say HELLO, and how long the door is open")
struct ScheduleTests {
  private func times(_ schedule: inout HelloSchedule, members: Int, count: Int) -> [Double] {
    (0..<count).map { _ in
      let due = schedule.deadline!
      let isEarly = schedule.isDue(now: due - .nanoseconds(1), memberCount: members)
      let isDue = schedule.isDue(now: due, memberCount: members)
      #expect(!isEarly && isDue)
      return (due - start).milliseconds / 1_000
    }
  }

  struct Steady: Sendable {
    let members: Int
    let seconds: Double
    static let all = [
      Steady(members: 2, seconds: 5), Steady(members: 15, seconds: 5),
      Steady(members: 16, seconds: 16.0 / 3), Steady(members: 300, seconds: 100),
    ]
  }

  @Test("HELLOs go at 0, 1, 2, 4 s, then every max(5 s, N/3 s)", arguments: Steady.all)
  func steady(_ steady: Steady) {
    var schedule = HelloSchedule(now: start, seed: 3)
    let times = times(&schedule, members: steady.members, count: 40)
    #expect(Array(times.prefix(4)) == [0, 1, 2, 4])
    let pauses = zip(times.dropFirst(3), times.dropFirst(4)).map { $1 - $0 }
    #expect(pauses.allSatisfy { abs($0 / steady.seconds - 1) <= 0.1001 })
    let mean = pauses.reduce(0, +) / Double(pauses.count)
    #expect(abs(mean / steady.seconds - 1) < 0.05)
  }

  @Test("a network change starts over")
  func restart() {
    var schedule = HelloSchedule(now: start, seed: 3)
    _ = times(&schedule, members: 2, count: 10)
    let now = schedule.deadline! - .seconds(2)
    schedule.restart(now: now)
    let since = (now - start).milliseconds / 1_000
    let pauses = times(&schedule, members: 2, count: 4).map { $0 - since }
    #expect(zip(pauses, [0, 1, 2, 4]).allSatisfy { abs($0 - $1) < 1e-6 })
  }

  @Test("the window is open for its ten minutes and not a moment longer")
  func windowTime() {
    var window = AdmitWindow()
    #expect(!window.mayAdmit(now: start))
    window.open(now: start)
    #expect(window.deadline == start + .seconds(600))
    #expect(window.mayAdmit(now: start + .seconds(599)))
    #expect(!window.mayAdmit(now: start + .seconds(600)))
  }

  @Test("the window closes at the first newcomer, or the last of N", arguments: [1, 2, 64])
  func windowNumber(number: Int) {
    var window = AdmitWindow()
    window.open(admitting: number, now: start)
    for _ in 0..<number {
      #expect(window.mayAdmit(now: start))
      window.admitted()
    }
    #expect(!window.mayAdmit(now: start) && window.deadline == nil && window.remaining == 0)
  }

  @Test("senseless wishes are cut to what a window may be")
  func windowLimits() {
    var window = AdmitWindow()
    window.open(for: .seconds(1_000_000), admitting: 65, now: start)
    #expect(window.remaining == 64 && window.deadline == start + .seconds(86_400))
    window.open(for: .seconds(-5), admitting: -1, now: start)
    #expect(window.remaining == 1 && !window.mayAdmit(now: start))
    window.open(now: start)
    window.close()
    #expect(!window.mayAdmit(now: start))
    window.admitted()
    #expect(window.remaining == 0)
  }
}
