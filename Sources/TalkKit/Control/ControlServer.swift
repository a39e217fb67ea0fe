import CLinux
import Glibc
import Synchronization
package import TalkCore

/// Serves the control socket on a thread of its own: JSON-RPC 2.0, one object a line.
///
/// Make it, then `publish` whatever happens; requests reach the handler on the socket's thread, and
/// its replies may come from any thread. Replies and events reach clients in the order in which
/// they were given, so that a status reply given by the node's loop fits the events around it.
/// `publish` takes a short lock, never waits, and does nothing while nobody watches. A client that
/// does not read is dropped; one that dies is reported by `clientGone`. End with `close`.
@safe package final class ControlServer: Sendable {
  /// Where the socket is.
  package let path: String
  let listener: ControlListener
  let handler: any ControlHandler
  let wake: Int32
  private let mailbox = Mailbox()
  private let subscribers = Atomic<Int>(0)
  private let levelSubscribers = Atomic<Int>(0)
  private let isClosed = Atomic<Bool>(false)
  private nonisolated(unsafe) var thread = pthread_t()

  /// Something for the socket's thread to pass on.
  enum Post: Sendable {
    case reply(ControlClientID, id: JSONValue?, ControlReply)
    case snapshot(ControlClientID, id: JSONValue?, ControlReply, WatchStamp)
    case event(WatchEvent.Content, WatchStamp)
    case close
  }

  /// An event's number and times.
  struct WatchStamp: Sendable {
    var seq: UInt64
    var at: Instant
    var wallSeconds: Double
  }

  /// Binds the socket at `path` (`ControlPath.resolve`) and starts serving.
  package init(path: String, handler: any ControlHandler) throws(ControlError) {
    self.path = path
    self.handler = handler
    listener = try ControlListener(path: path)
    wake = talk_eventfd()
    guard wake >= 0 else {
      let number = errno
      listener.end()
      throw .failed(path, call: "eventfd", errno: number)
    }
    let context = unsafe Unmanaged.passRetained(self)
    let failed = unsafe pthread_create(
      &thread, nil, controlServerMain, unsafe context.toOpaque())
    guard failed == 0 else {
      unsafe context.release()
      listener.end()
      throw .failed(path, call: "pthread_create", errno: failed)
    }
  }

  deinit { Glibc.close(wake) }

  /// Tells all who watch; `at` is the time of the step that caused it.
  package func publish(_ content: WatchEvent.Content, at: Instant) {
    guard content.isLevel ? wantsLevels : subscribers.load(ordering: .relaxed) > 0 else { return }
    if mailbox.append(content, at: at) { ring() }
  }

  /// True when somebody wants to know how loud it is, so that the node need not work it out for
  /// nobody.
  package var wantsLevels: Bool { levelSubscribers.load(ordering: .relaxed) > 0 }

  /// Hands over the replies that wait, ends all connections, removes the socket, and waits for the
  /// thread. Not from within the handler.
  package func close() {
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    post(.close)
    unsafe pthread_join(thread, nil)
  }

  func post(_ post: Post) {
    mailbox.append(post)
    ring()
  }

  func postSnapshot(_ client: ControlClientID, id: JSONValue?, _ reply: ControlReply) {
    mailbox.appendSnapshot(client, id: id, reply)
    ring()
  }

  func takePosts() -> [Post] { mailbox.takeAll() }

  func countSubscriber(levels: Bool, by step: Int) {
    subscribers.add(step, ordering: .relaxed)
    if levels { levelSubscribers.add(step, ordering: .relaxed) }
  }

  private func ring() {
    var one: UInt64 = 1
    _ = unsafe write(wake, &one, 8)
  }
}

extension ControlServer {
  /// What waits for the socket's thread, in order. Replies are bounded by the requests that may
  /// wait; events by a limit of their own.
  final class Mailbox: Sendable {
    private let lock = Lock()
    private nonisolated(unsafe) var posts: [Post] = []
    private nonisolated(unsafe) var events = 0
    private nonisolated(unsafe) var seq: UInt64 = 0

    func append(_ post: Post) { lock.withLock { unsafe posts.append(post) } }

    /// Numbers an event and adds it; false when too many wait: the number is used up all the same.
    func append(_ content: WatchEvent.Content, at: Instant) -> Bool {
      lock.withLock {
        unsafe seq += 1
        guard unsafe events < ControlLimits.waitingEvents else { return false }
        unsafe events += 1
        unsafe posts.append(.event(content, stamp(at)))
        return true
      }
    }

    func appendSnapshot(_ client: ControlClientID, id: JSONValue?, _ reply: ControlReply) {
      let now = Instant(nanoseconds: talk_boottime_nanoseconds())
      lock.withLock { unsafe posts.append(.snapshot(client, id: id, reply, stamp(now))) }
    }

    func takeAll() -> [Post] {
      lock.withLock {
        let taken = unsafe posts
        unsafe posts = []
        unsafe events = 0
        return taken
      }
    }

    private func stamp(_ at: Instant) -> WatchStamp {
      var wall = timespec()
      unsafe clock_gettime(CLOCK_REALTIME, &wall)
      let seconds = Double(wall.tv_sec) + Double(wall.tv_nsec) / 1e9
      return WatchStamp(seq: unsafe seq, at: at, wallSeconds: seconds)
    }
  }
}

/// The thread's entry: takes over the reference that `init` retained.
private func controlServerMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let server = unsafe Unmanaged<ControlServer>.fromOpaque(context).takeRetainedValue()
  var loop = ControlLoop(server: server)
  loop.run()
  return nil
}
