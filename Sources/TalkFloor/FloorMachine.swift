package import TalkCore
package import TalkCrypto
import TalkWire

/// Who may speak on one channel: floor.md as a machine, with no server and no I/O.
///
/// How to drive it: tell it the members (`setMember`, `setPresent`), hand it every authenticated
/// floor message (`receive`) and ask it for every voice frame whether it may be heard (`hears`);
/// tell it the key (`press`, `release`). After each call perform all `effects` in order, and call
/// `wake` at `deadline`. Where things are: the key in `+Key`, messages in `+Receive`, whose token
/// wins in `+Order`, granting in `+Keeper`, claims without a keeper in `+Claim`.
package struct FloorMachine {
  /// The token of record here, talking or idle.
  struct Record {
    var token: Token
    var talking: Bool
    /// The last grants that led to it, newest last.
    var chain: [Grant]
    var previous: Token
    /// Its last first-hand packet, or its grant.
    var lastHeard: Instant
    /// Since when its holder talks.
    var since: Instant
    /// Since when the talk limit counts: earlier than `since` when a tap counts on.
    var limitStart: Instant
    /// True once its holder was heard under it.
    var confirmed: Bool
    /// True once its lease ended here.
    var lapsed = false
  }

  /// A wish to claim the floor without the keeper's grant.
  struct Claim {
    var until: Instant
    /// A member answered in a way that allows the claim.
    var answered = false
    var highestTurn: UInt64 = 0
    /// Rival requests that were given way to.
    var rivals: [UInt64] = []
    /// Windows that ended without an answer.
    var windows = 0
  }

  /// A press that waits for the floor.
  struct Asking {
    var request: UInt64
    var seat: UInt16
    var floorClass: FloorClass
    var pressed: Instant
    var nextSend: Instant
    var signature = Signature64.zero
    var sends = 0
    var queuedPlace: Int?
    /// When the place is doubted again, unless the queue tells it anew.
    var placeUntil: Instant?
    var claim: Claim?
    /// Set once the floor is ours to take, but for a turn that the disk has: what it must be above.
    var readyAbove: UInt64?
  }

  /// Our own burst.
  struct Talking {
    var token: Token
    /// When the limit's clock started; earlier than the grant when a tap counts on.
    var limitStart: Instant
    var request: UInt64
    var warned = false
    var lastVoice: Instant
    /// Set once the key is up: when the tail must be over.
    var tailUntil: Instant?
    /// Set while we may not send: when the question whether our token stands goes unanswered.
    var fencedUntil: Instant?
  }

  /// What our key does.
  enum Local {
    /// Up, or down but spent: a new press is needed.
    case quiet
    case asking(Asking)
    case talking(Talking)
  }

  /// Something that is sent again a few times.
  struct Repeat {
    var message: FloorMessage
    var audience: FloorAudience
    var token: TokenID?
    var next: Instant
    var left: Int
    var interval: [Duration]
  }

  /// Our own identity.
  package let me: PeerID
  /// The channel.
  package let channel: ChannelID
  /// The timers, equal for all members.
  package let timers: FloorTimers
  /// True when the floor needs a majority of the roster.
  package let strict: Bool
  let identity: Identity

  /// What the roster allows us; everything until we know.
  var rights: FloorMember?
  var members = OrderedTable<PeerID, FloorMember>(limit: 1_024)
  var record: Record?
  var over = RecentTokens()
  var queue = FloorQueue()
  var local = Local.quiet
  /// No turn of ours may be at or below this: seen, or perhaps used before the last restart.
  var highestTurn: UInt64
  /// The highest turn that was named since the start: what we answer. A restart must not drive the
  /// turns of all others up.
  var highestHeard: UInt64 = 0
  /// The highest turn that we have talked under, in earlier runs too for all we know (S7).
  var ownTurn: UInt64
  /// When a turn too high to be believed last raised ours.
  var lastJump: Instant?
  var reserved: UInt64
  var reserveAsked: UInt64
  /// When a reserve that failed is asked for again, and how long it is waited for after the next
  /// failure.
  var reserveRetry: Instant?
  var reservePatience: Duration
  /// True when a grant or a burst of ours waits for a turn that the disk has.
  var lacksTurn = false
  var nextRequest: UInt64
  var repeats: [Repeat] = []
  var forwards: [Forward] = []
  var spent = SpentRequests()
  /// Waiting talkers whose requests came by other members; no more than wait.
  var routes: [Speaker] = []
  var nextHeartbeat: Instant?
  /// When we take back a floor that we granted and nobody used.
  var reclaimAt: Instant?
  var idleInterval: Duration
  let started: Instant
  var lastStep: Instant
  var lastHearsUs: Instant?
  var lastStale: Instant?
  var lastQueueAsk: Instant?
  /// The limit's clock and the end of our last burst, so that tapping does not reset it.
  var lastBurst: (limitStart: Instant, end: Instant)?
  /// The same of the last talker who was not us, for listeners hold the limit too.
  var lastTalk: (holder: PeerID, seat: UInt16, limitStart: Instant, end: Instant)?
  /// Who has the running exchange, for the order of the queue.
  var exchange = FloorExchange()
  /// The last frame that the node sent in our burst.
  var lastFrame: UInt32 = 0

  /// What is to be done, in order.
  package var effects = BoundedQueue<FloorEffect>(limit: 64)
  /// Messages that were dropped because their sender may not say this.
  package internal(set) var refusedMessages = 0

  /// A machine that knows nobody yet.
  ///
  /// `reservedTurn` is the highest turn that may have been used before (from disk), and as such may
  /// be used up to it already; `firstRequest` must be above every request id of earlier runs. On a
  /// `strict` channel the floor is used only where a majority of the roster is present.
  package init(
    identity: Identity, channel: ChannelID, timers: FloorTimers, reservedTurn: UInt64,
    firstRequest: UInt64, strict: Bool = false, now: Instant
  ) {
    self.identity = identity
    me = identity.publicIdentity.peerID
    self.channel = channel
    self.timers = timers
    self.strict = strict
    highestTurn = reservedTurn
    ownTurn = reservedTurn
    reserved = reservedTurn
    reserveAsked = reservedTurn
    nextRequest = firstRequest
    idleInterval = timers.idleHeartbeat
    reservePatience = timers.reserveRetry
    started = now
    lastStep = now
    reserveAhead()
  }

  /// Makes us the keeper of a channel that we have just created.
  package mutating func becomeFirstKeeper(now: Instant) {
    precondition(record == nil, "first keeper of a channel that has a token")
    highestTurn += 1
    highestHeard = highestTurn
    let token = Token(
      id: TokenID(turn: highestTurn, holder: me, seat: 0), floorClass: .normal)
    record = Record(
      token: token, talking: false, chain: [], previous: token, lastHeard: now, since: now,
      limitStart: now, confirmed: true)
    nextHeartbeat = now + idleInterval
  }

  // MARK: Members

  /// Adds a member, or renews what the roster says of it; ourselves too.
  package mutating func setMember(_ peer: PeerID, _ member: FloorMember) {
    guard peer != me else {
      rights = member
      return
    }
    var member = member
    if let known = members[peer] {
      member.present = known.present
      member.budget = known.budget
    } else {
      member.present = false
    }
    members[peer] = member
  }

  /// Says whether a session with a member is up.
  package mutating func setPresent(_ peer: PeerID, _ present: Bool, now: Instant) {
    guard let index = members.index(of: peer), members[at: index].present != present else {
      return
    }
    members[at: index].present = present
    if present {
      tellState(to: peer)
    } else {
      if queue.removeAll(of: peer), isHolderOrKeeper { announceQueue() }
      stopIfNobodyHears(now: now)
    }
  }

  /// A member's authenticated presence says "I hear you".
  package mutating func memberHearsUs(now: Instant) { lastHearsUs = now }

  /// How many members are here besides us.
  var presentCount: Int { members.values.reduce(0) { $0 + ($1.present ? 1 : 0) } }

  /// False on a strict channel while half of the roster or more is away: then nothing is granted or
  /// claimed here, and a burst of ours ends.
  var hasQuorum: Bool { !strict || 2 * (presentCount + 1) > members.count + 1 }

  /// The persisted reserve of turns went up.
  package mutating func turnsReserved(through turn: UInt64) {
    reserved = max(reserved, turn)
    reserveRetry = nil
    reservePatience = timers.reserveRetry
  }

  /// The reserve of turns could not be persisted: it is asked for again with the next turn, and
  /// now and then before.
  package mutating func reserveFailed() {
    reserveAsked = reserved
    reserveRetry = lastStep + reservePatience
    reservePatience = min(reservePatience * 2, timers.reserveRetryLimit)
  }

  /// The loop ran late: leases go on by the lateness instead of declaring others dead, but never
  /// beyond what was last read: packets that came meanwhile were drained before this is told, and
  /// who sent none of them is not alive for our having slept.
  package mutating func loopWasLate(by lateness: Duration) {
    guard let current = record, current.token.id.holder != me else { return }
    record!.lastHeard = max(current.lastHeard, min(lastStep, current.lastHeard + lateness))
  }

  // MARK: Time

  /// When `wake` wants to be called; none means never.
  package var deadline: Instant? {
    var earliest = nextHeartbeat
    func consider(_ instant: Instant?) { earliest = .earliest(earliest, instant) }
    for item in repeats { consider(item.next) }
    for forward in forwards { consider(forward.until) }
    consider(reserveRetry)
    consider(reclaimAt)
    if lacksTurn, highestTurn < reserved { consider(lastStep) }
    if let record, record.talking, !record.lapsed, record.token.id.holder != me {
      consider(record.lastHeard + timers.lease)
      consider(record.limitStart + timers.talkLimit + timers.limitGrace)
    }
    switch local {
    case .quiet: break
    case .asking(let asking):
      consider(asking.nextSend)
      consider(asking.claim?.until)
      consider(asking.placeUntil)
    case .talking(let talking):
      consider(talking.limitStart + timers.talkLimit)
      if !talking.warned { consider(talking.limitStart + timers.limitWarning) }
      consider(lastStep + timers.fence / 2)
      consider(talking.tailUntil)
      consider(talking.fencedUntil)
    }
    return earliest
  }

  /// Does what is due.
  package mutating func wake(now: Instant) {
    fenceIfStalled(now: now)
    lapseIfDue(now: now)
    wakeRepeats(now: now)
    wakeForwards(now: now)
    wakeReserve(now: now)
    wakeReclaim(now: now)
    wakeLocal(now: now)
    wakeHeartbeat(now: now)
  }

  private mutating func wakeRepeats(now: Instant) {
    for index in repeats.indices where repeats[index].next <= now {
      let item = repeats[index]
      emit(.send(item.message, to: item.audience))
      repeats[index].left -= 1
      let step = item.interval.count - item.left
      let gap = step < item.interval.count ? item.interval[step] : item.interval.last ?? .zero
      repeats[index].next = now + gap
    }
    repeats.removeAll { $0.left <= 0 }
  }

  mutating func emit(_ effect: FloorEffect) {
    effects.append(effect)
  }

  /// Sends now and again after each of `gaps`.
  mutating func sendRepeated(
    _ message: FloorMessage, to audience: FloorAudience, gaps: [Duration], token: TokenID?,
    now: Instant
  ) {
    emit(.send(message, to: audience))
    guard let first = gaps.first, repeats.count < 8 else { return }
    repeats.append(
      Repeat(
        message: message, audience: audience, token: token, next: now + first, left: gaps.count,
        interval: gaps))
  }

  // MARK: What others may know

  /// True when the token of record is ours.
  var isHolderOrKeeper: Bool { record?.token.id.holder == me }

  /// True while the token's lease is alive here, at `now`.
  func isLive(_ record: Record, now: Instant) -> Bool {
    record.talking && !record.lapsed
      && (record.token.id.holder == me || now < record.lastHeard + timers.lease)
  }

  /// True when a frame of our burst may leave at `now`: not when our loop has just stood still.
  package mutating func mayTransmit(now: Instant) -> Bool {
    fenceIfStalled(now: now)
    if case .talking(let talking) = local { return talking.fencedUntil == nil }
    return false
  }

  /// The state of the floor, for people.
  package var snapshot: FloorSnapshot {
    var snapshot = FloorSnapshot(
      state: .idle, token: nil, since: nil, place: nil, queue: queue.entries, keeper: nil,
      limit: timers.talkLimit, latestTurn: record?.token.id.turn ?? 0)
    if let record {
      if record.talking, !record.lapsed {
        snapshot.state = record.token.id.holder == me ? .ours : .taken
        snapshot.token = record.token
        snapshot.since = record.since
      } else {
        snapshot.keeper = record.token.id.holder
      }
    }
    if case .asking(let asking) = local {
      snapshot.state = asking.queuedPlace == nil ? .requested : .queued
      snapshot.place = asking.queuedPlace.map { $0 + 1 }
    }
    return snapshot
  }
}
