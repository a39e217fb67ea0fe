import TalkCore
import TalkNet
import Testing

@Suite struct MailboxTests {
  @Test func elementsOfEachThreadArriveInOrder() throws {
    let mailbox = try Mailbox<(Int, Int)>(limit: 40_000)
    let threads = try (0..<4).map { thread in
      try NodeThread(name: "writer") { for index in 0..<10_000 { mailbox.post((thread, index)) } }
    }
    var next = [0, 0, 0, 0]
    var inOrder = true
    while next.reduce(0, +) < 40_000 {
      mailbox.wait()
      mailbox.drain { thread, index in
        inOrder = inOrder && next[thread] == index
        next[thread] += 1
      }
    }
    for thread in threads { thread.join() }
    #expect(inOrder)
    #expect(mailbox.refused == 0)
  }

  @Test func aFullMailboxRefusesAndCounts() throws {
    let mailbox = try Mailbox<Int>(limit: 2)
    #expect([mailbox.post(1), mailbox.post(2), mailbox.post(3)] == [true, true, false])
    #expect(mailbox.refused == 1)
    var taken: [Int] = []
    mailbox.drain { taken.append($0) }
    #expect(taken == [1, 2])
  }

  @Test func aMailboxIsReadableOnlyWhileSomethingWaits() throws {
    let mailbox = try Mailbox<Int>(limit: 4)
    let loop = try EventLoop()
    var taken: [Int] = []
    try loop.add(fd: mailbox.fd) { mailbox.drain { taken.append($0) } }
    mailbox.post(7)
    loop.arm(BootClock.now())
    try loop.run(due: { _ in loop.stop() }, late: { _ in })
    #expect(taken == [7])
    #expect(mailbox.next() == nil)
  }
}
