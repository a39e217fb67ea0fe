import TalkCore

/// One connection, as a lane sees it.
struct LaneConnection {
  enum State: Hashable {
    /// Dialled; not up before this means failed.
    case dialing(until: Instant)
    /// Takes requests.
    case open
    /// Takes none any more; waits for its last answers.
    case draining
  }

  let id: Int
  var state: State
  /// What the server's SETTINGS allow.
  var allowed = 1
  /// True once a request was answered in a way that shows a valid provider token: before that there
  /// is one stream at a time.
  var trusted = false
  /// Requests in the order of their sending, with those that were answered long since.
  private var order: [(ticket: LaneTicket, sent: Instant)] = []
  private var orderHead = 0
  /// How many requests are unanswered.
  private(set) var inFlight = 0
  /// When anything was last received.
  var heard: Instant
  /// When anything was last sent or received.
  var used: Instant
  var pinged: Instant?

  init(id: Int, at now: Instant) {
    self.id = id
    state = .dialing(until: now + ProviderLimits.dial)
    (heard, used) = (now, now)
  }

  func takes(ownLimit: Int) -> Bool {
    state == .open && inFlight < (trusted ? min(allowed, ownLimit) : min(allowed, 1))
  }

  mutating func sent(_ ticket: LaneTicket, at now: Instant) {
    order.append((ticket, now))
    inFlight += 1
    used = now
  }

  /// A request is over, one way or the other.
  mutating func ended() {
    inFlight -= 1
    if inFlight == 0 {
      order.removeAll(keepingCapacity: true)
      orderHead = 0
    }
  }

  /// Drops answered requests from the front; `isLive` tells the others.
  mutating func trim(_ isLive: (LaneTicket) -> Bool) {
    while orderHead < order.count, !isLive(order[orderHead].ticket) { orderHead += 1 }
    if orderHead > 4_096 {
      order.removeFirst(orderHead)
      orderHead = 0
    }
  }

  /// When the oldest request was sent, as of the last `trim`: never later than true.
  var oldest: Instant? { orderHead < order.count ? order[orderHead].sent : nil }

  /// Everything that may be unanswered, in order.
  var unanswered: [LaneTicket] { order[orderHead...].map(\.ticket) }

  /// Those sent at or before a time.
  func unanswered(sentBy time: Instant) -> [LaneTicket] {
    order[orderHead...].prefix { $0.sent <= time }.map(\.ticket)
  }

  var deadline: Instant {
    if case .dialing(let until) = state { return until }
    let sign = pinged.map { $0 + ProviderLimits.pong } ?? used + ProviderLimits.idle
    return Instant.earliest(oldest.map { $0 + ProviderLimits.answer }, sign) ?? sign
  }
}

/// Why a lane sends nothing, and when it tries again.
struct LaneStop {
  static let noToken = "no provider token could be signed"

  let text: String
  let reason: String
  var probeAt: Instant

  func letsThrough(at now: Instant) -> Bool { now >= probeAt }
  mutating func probing(at now: Instant) { probeAt = now + ProviderLimits.probe }
  var outcome: PushOutcome { .refused(reason: reason, advice: .providerStopped(text)) }
}

/// What has happened in a lane since its start.
package struct LaneCounters: Hashable, Sendable {
  /// Requests handed to a connection.
  package var sent = 0
  /// Those of them that were sendings again.
  package var again = 0
  /// Pushes that Apple took.
  package var delivered = 0
  /// Pushes refused, by Apple or by us.
  package var refused = 0
  /// Pushes refused for a mistake of ours.
  package var ourFaults = 0
  /// Pushes whose time passed.
  package var expired = 0
  /// Connections that came up: handshakes.
  package var opened = 0
  /// Connections that were given up as dead.
  package var dead = 0
  /// GOAWAY frames received.
  package var goaways = 0
  /// PINGs sent because a connection was idle.
  package var pings = 0
  /// Answers to them.
  package var pongs = 0

  mutating func count(_ outcome: PushOutcome) {
    switch outcome {
    case .delivered: delivered += 1
    case .refused(_, .ourFault):
      refused += 1
      ourFaults += 1
    case .refused: refused += 1
    case .expired: expired += 1
    }
  }
}
