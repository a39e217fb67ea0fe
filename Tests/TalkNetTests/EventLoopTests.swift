import CAllocationProbe
import CTestSupport
import Glibc
import TalkCore
import TalkNet
import Testing

@Suite struct EventLoopTests {
  /// Runs a loop until it stops itself, with a due handler that says whether to go on.
  func run(
    _ loop: EventLoop, late: (Duration) -> Void = { _ in }, due: (Instant) -> Void
  ) throws {
    try loop.run(due: due, late: late)
  }

  @Test func socketsAreDrainedBeforeADueTimer() throws {
    let loop = try EventLoop()
    let waker = try Waker()
    var order: [String] = []
    var left = 3
    try loop.add(fd: waker.fd) {
      order.append("socket")
      left -= 1
      if left == 0 { waker.clear() }
    }
    waker.wake()
    loop.arm(BootClock.now() - .milliseconds(1))
    try run(loop) { _ in
      order.append("timer")
      loop.stop()
    }
    #expect(order == ["socket", "socket", "socket", "timer"])
  }

  @Test func aFloodDoesNotStarveTheTimer() throws {
    let loop = try EventLoop()
    let waker = try Waker()
    var calls = 0
    try loop.add(fd: waker.fd) { calls += 1 }
    waker.wake()
    loop.arm(BootClock.now())
    try run(loop) { _ in loop.stop() }
    #expect(calls >= 1 && calls <= EventLoop.roundLimit)
  }

  @Test func aRemovedDescriptorIsNotHandledAnyMore() throws {
    let loop = try EventLoop()
    let wakers = [try Waker(), try Waker()]
    var calls = 0
    for index in 0..<2 {
      try loop.add(fd: wakers[index].fd) {
        calls += 1
        loop.remove(fd: wakers[1 - index].fd)
        wakers[index].clear()
      }
    }
    for waker in wakers { waker.wake() }
    loop.arm(BootClock.now())
    try run(loop) { _ in loop.stop() }
    #expect(calls == 1)
  }

  @Test func aDeadlineIsKeptAndNeverEarly() throws {
    let loop = try EventLoop()
    var deadlines: [Instant] = []
    var fired: [Instant] = []
    func arm() {
      deadlines.append(BootClock.now() + .milliseconds(5))
      loop.arm(deadlines.last)
    }
    arm()
    try run(loop) { now in
      fired.append(now)
      if fired.count == 3 { loop.stop() } else { arm() }
    }
    #expect(zip(fired, deadlines).allSatisfy { $0 >= $1 })
  }

  @Test func aLateTimerIsReportedBeforeItIsHandled() throws {
    let loop = try EventLoop()
    var lateness: [Duration] = []
    loop.arm(BootClock.now() - .milliseconds(250))
    try run(loop, late: { lateness.append($0) }) { _ in
      #expect(lateness.count == 1)
      loop.stop()
    }
    #expect(lateness[0] >= .milliseconds(250))
  }

  @Test func aTimerWithinTheAllowanceIsNotReported() throws {
    let loop = try EventLoop()
    var reports = 0
    loop.arm(BootClock.now())
    try run(loop, late: { _ in reports += 1 }) { _ in loop.stop() }
    #expect(reports == 0)
  }

  @Test func anotherThreadWakesTheLoop() throws {
    let loop = try EventLoop()
    let waker = try Waker()
    try loop.add(fd: waker.fd) {
      waker.clear()
      loop.stop()
    }
    let thread = try NodeThread(name: "waker") { waker.wake() }
    try run(loop) { _ in }
    thread.join()
  }

  @Test func aTimerOfAnEdgeFiresOncePerArming() throws {
    let loop = try EventLoop()
    var count = 0
    let timer = try LoopTimer(loop: loop) { count += 1 }
    timer.arm(after: .milliseconds(1))
    loop.arm(BootClock.now() + .milliseconds(20))
    try run(loop) { _ in loop.stop() }
    #expect(count == 1)
    timer.cancel()
  }

  @Test func theSameDescriptorTwiceIsAnError() throws {
    let loop = try EventLoop()
    let waker = try Waker()
    try loop.add(fd: waker.fd) {}
    #expect(throws: NetError.self) { try loop.add(fd: waker.fd) {} }
    #expect(throws: NetError.self) { try loop.add(fd: -1) {} }
    loop.remove(fd: waker.fd)
    try loop.add(fd: waker.fd) {}
  }

  @Test func aRoundAllocatesNothing() throws {
    let loop = try EventLoop()
    let waker = try Waker()
    var rounds = 0
    var (before, after): (UInt64, UInt64) = (0, 0)
    try loop.add(fd: waker.fd) {
      waker.clear()
      rounds += 1
      if rounds == 10 { before = talk_probe_allocations() }
      loop.arm(BootClock.now())
    }
    waker.wake()
    try run(loop) { _ in
      if rounds < 1_000 { return waker.wake() }
      after = talk_probe_allocations()
      loop.stop()
    }
    #expect(before > 0 || talk_probe_works() == 0)
    #expect(after == before)
  }
}
