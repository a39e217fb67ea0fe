package import TalkCore
package import TalkWire

/// Who of a channel is here, who hears whom, and how well: from authenticated traffic alone.
///
/// Drive it so: `sessionUp` and `sessionDown` with the sessions; `heard` for every authenticated
/// datagram and `received` for each presence; at `deadline` call `tick`. After each of those send
/// what `nextKeepalive` gives until it is nil, and take the events until there are none.
/// `deadline` may be early, never late.
///
/// Up to 32 members each pair exchanges a keepalive a second and a peer is away after 3.5 s of
/// silence. Beyond that about 31 keepalives a second go out in all, so that each peer's turn comes
/// every N/31 s; who is silent for one and a half turns is asked each second, in the manner of
/// SWIM (Das, Gupta, Motivala 2002), and is away 3.5 s later if at least two askings stay
/// unanswered. Unlike SWIM nobody is asked to ask for us: every pair has a session.
package struct Presence: Sendable {
  /// The most peers of a channel.
  package static let peerLimit = 1_024
  /// The most peers that each get a keepalive a second: 32 members.
  package static let densePeers = 31
  /// The time between keepalives to one peer of a small channel, and between two askings.
  package static let interval: Duration = .seconds(1)
  /// The silence after which a peer of a small channel is away.
  package static let silence: Duration = .milliseconds(3_500)
  /// Two presences to one peer are at least this far apart, whatever it asks.
  package static let closest: Duration = .milliseconds(200)
  /// The most silent peers that are asked in one second.
  package static let askingsPerSecond = 32
  /// At most one notice per peer in this time.
  package static let noticeGap: Duration = .seconds(300)

  private let started: Instant
  private var peers = OrderedTable<PeerID, PeerPresence>(limit: peerLimit)
  private var events = BoundedQueue<PresenceEvent>(limit: 2 * peerLimit)
  private var connected = 0
  private var askingsEnd = Instant.zero
  private var askings = 0
  private var gate = Instant.zero
  /// The time between keepalives to one peer.
  private var turn = interval
  /// The silence after which a peer is asked each second.
  private var suspicion = interval * 3 / 2
  /// The silence after which a peer is away.
  private var limit = silence

  /// When to call `tick`; nil while no peer is known.
  package private(set) var deadline: Instant?

  /// Nobody is here; the node itself started at `started`.
  package init(started: Instant) {
    self.started = started
  }

  // MARK: Sessions

  /// A session with `peer` is up, the first or one that replaces another. False when the table is
  /// full of connected peers.
  @discardableResult
  package mutating func sessionUp(_ peer: PeerID, now: Instant) -> Bool {
    if peers.index(of: peer) == nil {
      if peers.isFull { dropLongestAway() }
      guard !peers.isFull else { return false }
      peers[peer] = PeerPresence(now: now)
      connected += 1
    } else if let index = peers.index(of: peer), !peers[at: index].isConnected {
      connected += 1
    }
    guard let index = peers.index(of: peer) else { return false }
    updatePace()
    peers[at: index].connect(now: now)
    become(true, at: index, now: now)
    deadline = Instant.earliest(deadline, now)
    return true
  }

  /// The session with `peer` is gone: by its BYE, or because it died.
  package mutating func sessionDown(_ peer: PeerID, now: Instant) {
    guard let index = peers.index(of: peer), peers[at: index].isConnected else { return }
    peers[at: index].isConnected = false
    peers[at: index].heardMe = nil
    connected -= 1
    updatePace()
    become(false, at: index, now: now)
    deadline = Instant.earliest(deadline, now)
  }

  /// The link that led to `peer` is gone: it is away at once, until something comes from it.
  package mutating func linkLost(to peer: PeerID, now: Instant) {
    guard let index = peers.index(of: peer) else { return }
    peers[at: index].heardMe = nil
    become(false, at: index, now: now)
    deadline = Instant.earliest(deadline, now)
  }

  /// Something authenticated came from `peer`. Allocates nothing.
  package mutating func heard(_ peer: PeerID, now: Instant) {
    guard let index = peers.index(of: peer) else { return }
    noteHeard(at: index, now: now)
  }

  private mutating func noteHeard(at index: Int, now: Instant) {
    guard peers[at: index].isConnected else { return }
    peers.update(at: index) { peer in
      peer.lastHeard = max(peer.lastHeard, now)
      peer.unanswered = 0
    }
    if !peers[at: index].isPresent { become(true, at: index, now: now) }
  }

  /// A presence came from `peer`, in its session. Allocates nothing.
  package mutating func received(_ body: PresenceBody, from peer: PeerID, now: Instant) {
    guard let index = peers.index(of: peer), peers[at: index].isConnected else { return }
    noteHeard(at: index, now: now)
    let isFirst = peers[at: index].theirArrival == nil
    guard peers[at: index].window.note(body.sequence) else { return }
    peers[at: index].take(body, now: now)
    guard isFirst || body.flags.contains(.answer) else { return }
    // A first presence is answered, so that the peer knows at once that it is heard.
    hurry(at: index, now: now)
  }

  /// Plans the next presence to a peer as early as may be.
  private mutating func hurry(at index: Int, now: Instant) {
    let earliest = peers[at: index].lastSend.map { $0 + Self.closest } ?? now
    peers[at: index].nextSend = min(peers[at: index].nextSend, max(now, earliest))
    peers[at: index].isUrgent = true
    deadline = Instant.earliest(deadline, peers[at: index].nextSend)
  }

  /// The loop ran late by `lateness`: nobody is blamed for what we did not read in that time.
  package mutating func excuse(_ lateness: Duration, now: Instant) {
    for index in peers.indices {
      peers[at: index].lastHeard = min(now, peers[at: index].lastHeard + lateness)
    }
  }

  // MARK: Sending

  /// The next presence to send, and to whom; nil when none is due. Take them until it is nil.
  package mutating func nextKeepalive(
    now: Instant, status: OwnStatus
  ) -> (peer: PeerID, body: PresenceBody)? {
    guard let deadline, deadline <= now else { return nil }
    var next: Int?
    for index in peers.indices where sendTime(at: index, now: now) <= now {
      if let other = next, peers[at: other].nextSend <= peers[at: index].nextSend { continue }
      next = index
    }
    guard let next else {
      updateDeadline(now: now)
      return nil
    }
    let isSilent = isSilent(peers[at: next], now: now)
    if isSilent {
      countAsking(now: now)
    } else if !isDense {
      gate = now + Self.interval / Self.densePeers
    }
    let asks = isSilent || peers[at: next].wantsAnswer
    let body = body(at: next, asks: asks, status: status, now: now)
    peers[at: next].sequence &+= 1
    peers[at: next].unanswered += asks ? 1 : 0
    peers[at: next].wantsAnswer = false
    peers[at: next].isUrgent = false
    peers[at: next].lastSend = now
    peers[at: next].nextSend = now + (isSilent ? Self.interval : turn)
    return (peers.entry(at: next).key, body)
  }

  /// When a presence may go to a peer: beyond 32 members keepalives are spread evenly, so that
  /// sessions which came up together are not kept alive together; askings have a budget of their
  /// own.
  private func sendTime(at index: Int, now: Instant) -> Instant {
    let peer = peers[at: index]
    guard peer.isConnected else { return .distantFuture }
    if isSilent(peer, now: now) {
      let isSpent = now < askingsEnd && askings >= Self.askingsPerSecond
      return isSpent ? max(peer.nextSend, askingsEnd) : peer.nextSend
    }
    return isDense || peer.isUrgent ? peer.nextSend : max(peer.nextSend, gate)
  }

  private func isSilent(_ peer: PeerPresence, now: Instant) -> Bool {
    now - peer.lastHeard > suspicion
  }

  private mutating func countAsking(now: Instant) {
    if now >= askingsEnd {
      askingsEnd = now + Self.interval
      askings = 0
    }
    askings += 1
  }

  /// Asks up to `limit` present peers for a presence at once, those last heard first: the floor's
  /// keeper does so when it has no fresh evidence that anybody hears it.
  package mutating func probe(limit: Int, now: Instant) {
    let recent = peers.indices.filter { peers[at: $0].isPresent }
      .sorted { (peers[at: $0].lastHeard, $1) > (peers[at: $1].lastHeard, $0) }
    for index in recent.prefix(limit) {
      peers[at: index].wantsAnswer = true
      hurry(at: index, now: now)
    }
  }

  private func body(
    at index: Int, asks: Bool, status: OwnStatus, now: Instant
  ) -> PresenceBody {
    let peer = peers[at: index]
    var flags: PresenceBody.Flags = []
    if peer.isPresent && now - peer.lastHeard <= limit { flags.insert(.hearsYou) }
    if status.isDeaf { flags.insert(.deaf) }
    if status.hasMicrophone { flags.insert(.hasMicrophone) }
    if asks { flags.insert(.answer) }
    if peer.theirArrival != nil { flags.insert(.hasEcho) }
    let delay = peer.theirArrival.map { (now - $0).wholeNanoseconds / 1_000 } ?? 0
    return PresenceBody(
      flags: flags, sequence: peer.sequence,
      sentAt: now.microseconds,
      echo: peer.theirSentAt, echoDelay: UInt32(clamping: delay), received: peer.window.received,
      expected: peer.window.expected,
      uptime: UInt32(clamping: (now - started).wholeNanoseconds / 1_000_000_000),
      rosterDigest: status.rosterDigest)
  }

  // MARK: Judging

  /// Has the silent asked, declares away who has been silent for too long, and settles notices
  /// that were held back.
  package mutating func tick(now: Instant) {
    for index in peers.indices {
      let peer = peers[at: index]
      if peer.isPresent, isAway(peer, now: now) { become(false, at: index, now: now) }
      if peer.isPresent, peer.unanswered == 0, isSilent(peer, now: now) {
        hurry(at: index, now: now)
      }
      settleNotice(at: index, now: now)
    }
    updateDeadline(now: now)
  }

  private func isAway(_ peer: PeerPresence, now: Instant) -> Bool {
    guard now - peer.lastHeard > limit else { return false }
    guard !isDense else { return true }
    // The last asking must have had its second, too.
    let lastSend = peer.lastSend ?? now
    return peer.unanswered >= 2 && now - lastSend >= Self.interval
  }

  private mutating func become(_ isPresent: Bool, at index: Int, now: Instant) {
    guard peers[at: index].isPresent != isPresent else { return }
    peers[at: index].isPresent = isPresent
    events.append(.changed(peers.entry(at: index).key, isPresent: isPresent))
    settleNotice(at: index, now: now)
  }

  /// Tells the person of a change, unless it was told of this peer in the last five minutes; then
  /// the state at the end of that time is told if it differs from what was told.
  private mutating func settleNotice(at index: Int, now: Instant) {
    let peer = peers[at: index]
    guard peer.isPresent != peer.noticedPresent else { return }
    if let last = peer.noticedAt, now - last < Self.noticeGap { return }
    peers[at: index].noticedAt = now
    peers[at: index].noticedPresent = peer.isPresent
    events.append(.notice(peers.entry(at: index).key, isPresent: peer.isPresent))
  }

  private mutating func updateDeadline(now: Instant) {
    deadline = nil
    for index in peers.indices {
      let peer = peers[at: index]
      if peer.isConnected {
        deadline = Instant.earliest(deadline, sendTime(at: index, now: now))
      }
      if peer.isPresent {
        // Silent beyond the limit and not away yet: judged when the next asking is due.
        let suspected = peer.lastHeard + suspicion + .nanoseconds(1)
        let judged = peer.lastHeard + limit + .nanoseconds(1)
        if suspected > now { deadline = Instant.earliest(deadline, suspected) }
        if judged > now { deadline = Instant.earliest(deadline, judged) }
      }
      if peer.isPresent != peer.noticedPresent, let last = peer.noticedAt {
        deadline = Instant.earliest(deadline, last + Self.noticeGap)
      }
    }
  }

  private mutating func dropLongestAway() {
    let away = peers.indices.filter { !peers[at: $0].isConnected }
      .min { peers[at: $0].lastHeard < peers[at: $1].lastHeard }
    if let away { peers[peers.entry(at: away).key] = nil }
  }

  // MARK: Numbers

  private var isDense: Bool { connected <= Self.densePeers }

  /// The number of sessions changed, and with it the time between keepalives to one peer.
  private mutating func updatePace() {
    turn = isDense ? Self.interval : Self.interval * connected / Self.densePeers
    suspicion = turn * 3 / 2
    limit = isDense ? Self.silence : suspicion + Self.silence
  }

  // MARK: Answers

  /// The next event; nil when there is none. Take them after each call that can make one.
  package mutating func nextEvent() -> PresenceEvent? { events.popFirst() }

  /// Whether any member's presence of the last `duration` said that it hears us (floor.md, Roles).
  package func heardMe(within duration: Duration, now: Instant) -> Bool {
    for index in peers.indices {
      if let heard = peers[at: index].heardMe, now - heard <= duration { return true }
    }
    return false
  }

  /// When `peer` was last heard; nil while it is away.
  package func lastHeard(_ peer: PeerID) -> Instant? {
    guard let index = peers.index(of: peer), peers[at: index].isPresent else { return nil }
    return peers[at: index].lastHeard
  }

  /// What is known of `peer`; nil when there never was a session with it.
  package func view(of peer: PeerID, now: Instant) -> PresenceView? {
    peers.index(of: peer).map { view(at: $0, now: now) }
  }

  /// What is known of every peer, in the order of their ids.
  package func views(now: Instant) -> [PresenceView] {
    peers.indices.map { view(at: $0, now: now) }
  }

  private func view(at index: Int, now: Instant) -> PresenceView {
    let (key, peer) = peers.entry(at: index)
    func loss(_ received: UInt8, _ expected: UInt8) -> Double? {
      expected == 0 ? nil : 1 - Double(received) / Double(expected)
    }
    return PresenceView(
      peer: key, isPresent: peer.isPresent,
      hearsMe: peer.isPresent && peer.heardMe.map { now - $0 <= limit } ?? false,
      iHear: peer.isPresent && now - peer.lastHeard <= limit,
      roundTrip: peer.roundTrip.map { .nanoseconds($0) },
      lossTo: loss(peer.toReceived, peer.toExpected),
      lossFrom: loss(peer.window.received, peer.window.expected),
      isDeaf: peer.flags.contains(.deaf), hasMicrophone: peer.flags.contains(.hasMicrophone),
      lastHeard: peer.lastHeard, rosterDigest: peer.rosterDigest, uptime: peer.uptime)
  }
}
