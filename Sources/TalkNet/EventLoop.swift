import Glibc
package import TalkCore

import CLinux

/// The loop of one thread: waits for file descriptors and one deadline (architecture.md, "The loop
/// contract").
///
/// How to drive it: make it on its thread, `add` descriptors, `arm` the first deadline, `run`. In
/// each round all descriptors that are ready are handled, again and again until none is (at most
/// `roundLimit` times, so that a flood cannot starve the timer), and only then a due deadline.
package final class EventLoop {
  /// The most descriptors in one loop.
  package static let descriptorLimit = 1_024
  /// How often descriptors are looked at again before a due timer is.
  package static let roundLimit = 16
  /// A timer handled later than this is reported (architecture.md, point 4).
  package static let lateness = Duration.milliseconds(100)

  private struct Entry {
    var generation: UInt32
    var handler: () -> Void
  }

  private let epoll: Descriptor
  private let timer: Descriptor
  private var entries = [Entry?](repeating: nil, count: descriptorLimit)
  private var generation: UInt32 = 0
  private var deadline: Instant?
  private var stopped = false
  private static let capacity = 32

  /// A loop without descriptors.
  package init() throws(NetError) {
    epoll = try Descriptor(talk_epoll(), of: "epoll_create1")
    timer = try Descriptor(talk_timerfd(), of: "timerfd_create")
    try watch(timer.number, generation: 0)
  }

  private func watch(_ fd: Int32, generation: UInt32) throws(NetError) {
    let token = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: fd))
    guard talk_epoll_add(epoll.number, fd, token) == 0 else {
      throw .system(call: "epoll_ctl", code: errno)
    }
  }

  /// Calls `handler` on the loop's thread whenever `fd` has input. The handler takes what there is,
  /// or a batch of it: while there is more, it is called again.
  package func add(fd: Int32, _ handler: @escaping () -> Void) throws(NetError) {
    guard entries.indices.contains(Int(fd)), entries[Int(fd)] == nil else {
      throw .system(call: "epoll_ctl", code: EBADF)
    }
    generation &+= 1
    try watch(fd, generation: generation)
    entries[Int(fd)] = Entry(generation: generation, handler: handler)
  }

  /// Forgets `fd`; its handler is not called any more, not even for input that is known already.
  /// Call it before the descriptor is closed.
  package func remove(fd: Int32) {
    guard entries.indices.contains(Int(fd)), entries[Int(fd)] != nil else { return }
    _ = talk_epoll_remove(epoll.number, fd)
    entries[Int(fd)] = nil
  }

  /// Sets the one deadline, or none; replaces the one before. A past one is due at once.
  package func arm(_ deadline: Instant?) {
    guard deadline != self.deadline else { return }
    self.deadline = deadline
    // 0 would disarm: the machine's start is long past in any case.
    _ = talk_timerfd_set(timer.number, deadline.map { max(1, $0.nanoseconds) } ?? 0)
  }

  /// Ends `run` after the current handler. On the loop's thread; others wake it to have it called.
  package func stop() { stopped = true }

  /// Handles input and deadlines until `stop`.
  ///
  /// `due` is called with the time when the deadline has passed, which is then disarmed; `late` is
  /// called before it with how late that was, when it was more than `lateness`.
  package func run(due: (Instant) -> Void, late: (Duration) -> Void) throws(NetError) {
    stopped = false
    while !stopped {
      guard try handleReady(timeout: -1) else { continue }
      var rounds = 1
      while !stopped, rounds < Self.roundLimit, try handleReady(timeout: 0) { rounds += 1 }
      guard !stopped else { return }
      fire(due: due, late: late)
    }
  }

  /// Handles what is ready; false when nothing but the timer was.
  private func handleReady(timeout: Int32) throws(NetError) -> Bool {
    var sockets = false
    var timerReady = false
    let count = unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.capacity) {
      tokens in
      let count = unsafe talk_epoll_wait(
        epoll.number, tokens.baseAddress, Int32(Self.capacity), timeout)
      guard count > 0 else { return count }
      for index in 0..<Int(count) {
        let token = unsafe tokens[index]
        let fd = Int(truncatingIfNeeded: token & 0xffff_ffff)
        if fd == Int(timer.number) {
          timerReady = true
        } else if let entry = entries[fd], entry.generation == UInt32(token >> 32), !stopped {
          sockets = true
          entry.handler()
        }
      }
      return count
    }
    guard count >= 0 else { throw .system(call: "epoll_wait", code: errno) }
    return timeout == 0 ? sockets : (sockets || timerReady)
  }

  private func fire(due: (Instant) -> Void, late: (Duration) -> Void) {
    guard let deadline else { return }
    let now = BootClock.now()
    guard deadline <= now else { return }
    arm(nil)
    let delay = now - deadline
    if delay > Self.lateness { late(delay) }
    due(now)
  }
}
