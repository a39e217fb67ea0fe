import TalkCore
package import TalkNet

/// Finds other nodes through avahi-daemon, and lets them find us (mesh.md, "Avahi in practice").
///
/// Everything of avahi-client happens on a thread of its own, because its calls wait for D-Bus,
/// 25 s when the daemon is stopped. What is asked for here is a state, not a queue of commands: the
/// thread makes the daemon agree with it whenever there is a daemon, so nothing can overflow or be
/// lost, and no call here waits.
package final class AvahiDiscovery: Sendable {
  /// The most events that wait for the loop; beyond, they are dropped and browsing starts anew.
  package static let eventLimit = 4_096
  /// The type of our services.
  package static let serviceType = "_talkaround._udp"

  /// What was seen, for the loop.
  package let events: Mailbox<DiscoveryEvent>
  private let wishes: DiscoveryWishes

  /// Starts the thread: browsing begins as soon as there is a daemon.
  package init(serviceType: String = serviceType) throws(NetError) {
    let events = try Mailbox<DiscoveryEvent>(limit: Self.eventLimit)
    let wishes = try DiscoveryWishes()
    (self.events, self.wishes) = (events, wishes)
    let thread = try NodeThread(name: "talk-avahi") {
      AvahiWorker(serviceType: serviceType, wishes: wishes, events: events)?.run()
    }
    // It may hang in D-Bus when the program ends.
    thread.detach()
  }

  deinit { stop() }

  /// Publishes this service, in place of the one before: a changed TXT record is updated in place,
  /// another instance or port is registered anew. `text` holds raw strings, 400 bytes at most.
  package func publish(
    instance: String, port: UInt16, text: [[UInt8]]
  ) throws(DiscoveryError) {
    let publication = try Publication(instance: instance, port: port, text: text)
    wishes.change { $0.publication = publication }
  }

  /// Withdraws the service.
  package func unpublish() { wishes.change { $0.publication = nil } }

  /// Browses anew: after a network change, since a browser's next query may be far away.
  package func refresh() { wishes.change { $0.refresh = true } }

  /// Withdraws the service and ends the thread; `status(.stopped)` comes when that is done.
  package func stop() { wishes.change { $0.stop = true } }

  /// Figures for the doctor and tests.
  package var counters: DiscoveryCounters { wishes.counters }
}

/// What the discovery has done so far.
package struct DiscoveryCounters: Hashable, Sendable {
  /// Resolvers made.
  package var resolvers = 0
  /// Resolvers alive now, and the most at any time.
  package var liveResolvers = 0, mostResolvers = 0
  /// Clients made: one more for each time that daemon or bus was lost.
  package var clients = 0
  /// Services left out: a foreign name, no port, or a TXT record beyond our limits.
  package var ignored = 0
}

/// What the loop wants, shared with the Avahi thread.
final class DiscoveryWishes: Sendable {
  struct State {
    var publication: Publication?
    var refresh = false
    var stop = false
  }

  let waker: Waker
  private let lock = Lock()
  private nonisolated(unsafe) var state = State()
  private nonisolated(unsafe) var counted = DiscoveryCounters()

  init() throws(NetError) { waker = try Waker() }

  /// Changes the state and wakes the thread.
  func change(_ body: (inout State) -> Void) {
    lock.withLock { unsafe body(&state) }
    waker.wake()
  }

  /// The state; a wish to refresh is taken with it.
  func take() -> State {
    lock.withLock {
      defer { unsafe state.refresh = false }
      return unsafe state
    }
  }

  var counters: DiscoveryCounters { lock.withLock { unsafe counted } }

  /// Changes the counters.
  func count(_ body: (inout DiscoveryCounters) -> Void) { lock.withLock { unsafe body(&counted) } }
}
