import TalkCore
import TalkCrypto
import TalkWire

/// Granting: what the holder and the keeper do for the others.
extension FloorMachine {
  /// A signed grant behind the last two of `chain`.
  func extend(_ chain: [Grant], from: Token, to: Token, request: UInt64) -> [Grant] {
    var grant = Grant(from: from, to: to, request: request, signature: .zero)
    grant.signature = sign(grant.signedBytes(channel: channel))
    return chain.suffix(FloorMessage.chainLimit - 1) + [grant]
  }

  /// Our signature under a grant or a request.
  func sign(_ bytes: [UInt8]) -> Signature64 {
    guard let signature = Signature64(identity.sign(bytes)) else {
      preconditionFailure("an Ed25519 signature of other than 64 bytes")
    }
    return signature
  }

  /// Gives the floor that we hold or keep to `entry`; false when its turn can't be used yet.
  mutating func grant(_ entry: QueueEntry, counter: UInt64, now: Instant) -> Bool {
    guard let current = record, let turn = newTurn(above: counter) else { return false }
    let token = Token(
      id: TokenID(turn: turn, holder: entry.peer, seat: entry.seat),
      floorClass: entry.floorClass)
    let chain = extend(current.chain, from: current.token, to: token, request: entry.request)
    _ = queue.remove(entry.peer, seat: entry.seat)
    if case .talking(let talking) = local {
      lastBurst = (talking.limitStart, now)
      local = .quiet
      emit(.stopTransmit(talking.token, .preempted))
      askAgain(after: talking, now: now)
      if case .asking(let asking) = local {
        _ = enqueue(
          QueueEntry(
            floorClass: asking.floorClass, request: asking.request, peer: me,
            seat: asking.seat), now: now)
      }
    }
    if current.talking { talkEnds(current, now: now) }
    over.insert(current.token.id, at: now)
    record = Record(
      token: token, talking: true, chain: chain, previous: current.token, lastHeard: now,
      since: now, limitStart: limitStart(of: token.id, now: now), confirmed: false)
    exchange.begin(token.id, hangTime: timers.hangTime, now: now)
    noteTurn(turn)
    nextHeartbeat = nil
    sendRepeated(
      .grant(chain: chain, queue: queue.entries), to: .everyone,
      gaps: Array(repeating: timers.grantRepeat, count: timers.grantRepeats), token: token.id,
      now: now)
    emit(.talker(token))
    return true
  }

  /// Gives the floor to the next in the queue; false when nobody waits.
  mutating func grantNext(now: Instant) -> Bool {
    while let next = queue.entries.first {
      if next.peer == me {
        // Our own press waits in our own queue, as after a burst that another class ended.
        _ = queue.remove(me, seat: next.seat)
        guard case .asking(let asking) = local, asking.request == next.request else { continue }
        startOwnBurst(asking, now: now)
        return true
      }
      guard members[next.peer]?.present == true || isReachedByOthers(next) else {
        _ = queue.remove(next.peer, seat: next.seat)
        continue
      }
      return grant(next, counter: 0, now: now)
    }
    return false
  }

  /// Puts a talker into the queue where it belongs.
  mutating func enqueue(
    _ entry: QueueEntry, now: Instant
  ) -> (accepted: Bool, changed: Bool) {
    queue.insert(entry, exchange: exchange, hangTime: timers.hangTime, now: now)
  }

  /// Nobody used the floor that we granted, nor took it since: it is ours to keep again, under a
  /// new turn. If its holder talks after all where we don't hear it, an idle token displaces
  /// nobody, and STALE sets the numbers right once we do.
  mutating func wakeReclaim(now: Instant) {
    guard let due = reclaimAt, due <= now else { return }
    reclaimAt = nil
    guard let current = record, current.lapsed, !current.confirmed else { return }
    guard case .quiet = local, queue.entries.isEmpty, hasQuorum, presentCount > 0 else {
      // Who waits claims it, we too; and nobody is told anything where nobody is.
      reclaimAt = now + timers.reclaim
      return
    }
    guard let turn = newTurn(above: 0) else { return }
    let token = Token(id: TokenID(turn: turn, holder: me, seat: 0), floorClass: .normal)
    retireRecord(now: now, cut: false)
    record = Record(
      token: token, talking: false, chain: [], previous: current.token, lastHeard: now, since: now,
      limitStart: now, confirmed: true)
    noteTurn(turn)
    keepIdle(now: now)
    nextHeartbeat = now
  }

  /// We keep the idle floor.
  mutating func keepIdle(now: Instant) {
    idleInterval = timers.idleHeartbeat
    nextHeartbeat = now + idleInterval
  }

  /// A request reached the holder or keeper: us.
  mutating func answerAsHolder(_ request: FloorRequest, from sender: PeerID, now: Instant) {
    guard let current = record, let member = members[request.requester] else { return }
    let audience = FloorAudience.peer(
      members[request.requester]?.present == true ? request.requester : sender)
    func deny(_ reason: DenyReason) {
      // It may wait here from a time when it was allowed.
      if queue.remove(request.requester, seat: request.seat) { announceQueue() }
      emit(
        .send(.deny(request: request.request, seat: request.seat, reason: reason), to: audience))
    }
    guard hasQuorum else { return deny(.minority) }
    guard member.maySpeak else { return deny(.listenOnly) }
    guard member.may(request.floorClass) else { return deny(.classRefused) }
    let entry = QueueEntry(
      floorClass: request.floorClass, request: request.request, peer: request.requester,
      seat: request.seat)
    let preempts =
      request.floorClass.preempts && request.floorClass > current.token.floorClass
    if !current.talking || preempts {
      // Without a turn on the disk it waits for one; its repeats are the same entry.
      if !grant(entry, counter: request.counter, now: now) { _ = enqueue(entry, now: now) }
      return
    }
    let result = enqueue(entry, now: now)
    guard result.accepted else { return deny(.queueFull) }
    // The turn that we grant it later is above its own.
    noteTurn(request.counter)
    noteRoute(of: request)
    if result.changed {
      announceQueue()
    } else {
      emit(
        .send(
          .queue(asking: false, token: current.token, entries: queue.entries), to: audience))
    }
  }

  /// Tells everyone the queue: a crash of the holder then loses nothing.
  mutating func announceQueue() {
    guard let record else { return }
    emit(
      .send(
        .queue(asking: false, token: record.token, entries: queue.entries), to: .everyone))
  }

  /// Tells a member who has just come how the floor stands, if it is ours.
  mutating func tellState(to peer: PeerID) {
    guard let record, isHolderOrKeeper else { return }
    emit(
      .send(
        .taken(
          token: record.token, talking: record.talking, chain: record.chain,
          queue: queue.entries), to: .peer(peer)))
  }

  /// Tells that the holder or keeper is here.
  mutating func wakeHeartbeat(now: Instant) {
    guard let due = nextHeartbeat, due <= now else { return }
    guard let record, isHolderOrKeeper else {
      nextHeartbeat = nil
      return
    }
    switch local {
    case .talking(let talking) where talking.fencedUntil == nil:
      let pausing = now - talking.lastVoice > timers.pauseHeartbeat
      nextHeartbeat = now + (pausing ? timers.pauseHeartbeat : timers.talkingHeartbeat)
    case .talking:
      nextHeartbeat = now + timers.pauseHeartbeat
      return
    default:
      nextHeartbeat = now + idleInterval
      idleInterval = min(idleInterval * 2, timers.idleHeartbeatLimit)
    }
    emit(
      .send(
        .heartbeat(
          token: record.token, talking: record.talking, previous: record.previous,
          queueDigest: queue.digest), to: .everyone))
  }
}
