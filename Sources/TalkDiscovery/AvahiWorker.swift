import CAvahi
import TalkCore
import TalkNet

/// One of Avahi's objects, which only its own functions look into.
@safe struct Handle: Hashable {
  let pointer: OpaquePointer

  /// Nil for C's NULL.
  init?(_ pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  static func == (left: Handle, right: Handle) -> Bool {
    unsafe left.pointer == right.pointer
  }

  func hash(into hasher: inout Hasher) { unsafe hasher.combine(pointer) }
}

/// The Avahi thread's side: one poll, one client, and what hangs on it.
///
/// How it works: callbacks only note what happened; after each turn of the poll `advance` brings
/// what there is in line with what is wanted. So nothing is freed inside its own callback, and a
/// lost daemon, a lost bus and a first start are one path. A client with an error is freed whole:
/// that closes its connection first, whereas freeing its objects one by one would wait 25 s each.
@safe final class AvahiWorker {
  /// How long to wait before a new client, doubled from the first to the last (mesh.md).
  static let backoff = (first: Duration.milliseconds(100), last: Duration.seconds(2))
  /// How often the browser is made anew without an occasion.
  static let refreshInterval = Duration.seconds(300)
  /// How soon it is made anew after events were dropped.
  static let overflowDelay = Duration.seconds(5)
  /// A client that took longer than this to make means that nobody answers.
  static let patience = Duration.seconds(5)
  /// How long a client may wait for its daemon before it is made anew. It hears of a daemon that
  /// starts, but not of one that was stopped (SIGSTOP) while the client was made.
  static let connectPatience = Duration.seconds(3)

  let serviceType: String
  let wishes: DiscoveryWishes
  private let events: Mailbox<DiscoveryEvent>
  private let poll: Handle
  private var wanted = DiscoveryWishes.State()

  var client: Handle?
  private var isBroken = false
  private var retryAt = Instant.zero
  private var backoff = AvahiWorker.backoff.first
  private var status: DiscoveryStatus?
  private var wasSlow = false
  private var connectBy = Instant.distantFuture

  var browser: Handle?
  private var refreshAt = Instant.distantFuture
  var sightings = Sightings()
  var resolvers: [Handle: ActiveResolver] = [:]
  var resolvingPausedUntil = Instant.zero

  var group: Handle?
  var published: Publication?
  var announced: Publication?
  var collided: String?
  /// The instances that we have had lately, newest last: our own, so never found.
  var ownInstances: [String] = []

  /// Nil without memory for a poll.
  init?(serviceType: String, wishes: DiscoveryWishes, events: Mailbox<DiscoveryEvent>) {
    guard let poll = unsafe Handle(avahi_simple_poll_new()) else { return nil }
    self.poll = poll
    (self.serviceType, self.wishes, self.events) = (serviceType, wishes, events)
  }

  deinit { unsafe avahi_simple_poll_free(poll.pointer) }

  /// What C callbacks get to find this object; valid while `run` runs.
  var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  /// Works until a stop is wanted.
  func run() {
    let api = unsafe avahi_simple_poll_get(poll.pointer)!
    let watch = unsafe api.pointee.watch_new(
      api, wishes.waker.fd, AVAHI_WATCH_IN, wakerReady, context)
    while true {
      wanted = wishes.take()
      if wanted.stop { break }
      if wanted.refresh { refreshAt = .zero }
      advance(at: BootClock.now())
      guard unsafe avahi_simple_poll_iterate(poll.pointer, sleepTime()) == 0 else { break }
    }
    dropClient()
    unsafe api.pointee.watch_free(watch)
    post(.status(.stopped))
  }

  /// Called when the loop wants something.
  fileprivate func awake() { wishes.waker.clear() }

  /// Tells the loop; what finds no room is found again by a new browser.
  func post(_ event: DiscoveryEvent) {
    if !events.post(event) {
      refreshAt = min(refreshAt, BootClock.now() + Self.overflowDelay)
    }
  }

  private func say(_ status: DiscoveryStatus) {
    guard status != self.status else { return }
    self.status = status
    post(.status(status))
  }

  /// Notes that a call failed: the client is made anew.
  func fail() { isBroken = true }

  /// How many milliseconds the poll may sleep: until the next deadline, rounded up.
  private func sleepTime() -> Int32 {
    var next = client == nil ? retryAt : connectBy
    if isBroken { next = .zero }
    if browser != nil {
      next = min(next, min(refreshAt, sightings.deadline))
      if sightings.hasPending, resolvers.count < ActiveResolver.limit {
        next = min(next, resolvingPausedUntil)
      }
      for resolver in resolvers.values { next = min(next, resolver.deadline) }
    }
    guard next != .distantFuture else { return -1 }
    let nanoseconds = (next - BootClock.now()).wholeNanoseconds
    return Int32(clamping: max(0, (nanoseconds + 999_999) / 1_000_000))
  }

  /// Brings everything in line with what is wanted and what there is.
  private func advance(at now: Instant) {
    if client == nil, retryAt <= now { makeClient(at: now) }
    guard let client else { return }
    switch unsafe avahi_client_get_state(client.pointer) {
    case AVAHI_CLIENT_FAILURE:
      fail()
    case AVAHI_CLIENT_CONNECTING:
      say(wasSlow ? .notAnswering : .daemonAbsent)
      if connectBy <= now { fail() }
    case AVAHI_CLIENT_S_RUNNING:
      connectBy = .distantFuture
      say(.running)
      backoff = Self.backoff.first
      browse(at: now)
      publish(wanted.publication)
    default:
      connectBy = .distantFuture
      // The host's name is being agreed on: records would be published under the old one.
      say(.registering)
      withdraw()
      browse(at: now)
    }
    if isBroken {
      dropClient()
      retryAt = BootClock.now() + backoff
      backoff = min(backoff * 2, Self.backoff.last)
    }
  }

  private func browse(at now: Instant) {
    if browser == nil || refreshAt <= now {
      remakeBrowser(at: now)
      refreshAt = now + Self.refreshInterval
    }
    resolve(at: now)
    for instance in sightings.expire(at: now) { post(.lost(instance: instance)) }
  }

  private func makeClient(at now: Instant) {
    var error: Int32 = 0
    let api = unsafe avahi_simple_poll_get(poll.pointer)
    client = unsafe Handle(
      avahi_client_new(api, AVAHI_CLIENT_NO_FAIL, clientChanged, nil, &error))
    wishes.count { $0.clients += 1 }
    let made = BootClock.now()
    wasSlow = made - now > Self.patience
    connectBy = made + Self.connectPatience
    guard client == nil else { return }
    say(wasSlow ? .notAnswering : .busAbsent)
    retryAt = made + backoff
    backoff = min(backoff * 2, Self.backoff.last)
  }

  /// Frees the client with all that hangs on it, at once.
  private func dropClient() {
    if let client { unsafe avahi_client_free(client.pointer) }
    (client, browser, group) = (nil, nil, nil)
    (published, announced) = (nil, nil)
    connectBy = .distantFuture
    wishes.count { $0.liveResolvers -= resolvers.count }
    resolvers.removeAll()
    sightings.forgetPending()
    isBroken = false
  }
}

/// Finds the worker of a C callback.
func worker(_ context: UnsafeMutableRawPointer?) -> AvahiWorker {
  unsafe Unmanaged<AvahiWorker>.fromOpaque(context!).takeUnretainedValue()
}

/// AvahiWatchCallback of our waker.
private func wakerReady(
  _: OpaquePointer?, _: Int32, _: AvahiWatchEvent, _ context: UnsafeMutableRawPointer?
) {
  unsafe worker(context).awake()
}

/// AvahiClientCallback: the state is read after each turn; the first call comes before
/// `avahi_client_new` returns.
private func clientChanged(
  _: OpaquePointer?, _: AvahiClientState, _: UnsafeMutableRawPointer?
) {}
