package import TalkCore
import TalkCrypto
package import TalkWire

/// What others say: voice, state, requests.
extension FloorMachine {
  /// A voice frame of `sender` came, opened under its own session: the token that it belongs to if
  /// it may be heard, nil if it must not be.
  package mutating func hears(
    turn: UInt64, seat: UInt16, floorClass: FloorClass, from sender: PeerID, now: Instant
  ) -> Token? {
    fenceIfStalled(now: now)
    // Late voice of the talker of record resumes it; there is no lapse to be told.
    let isOfRecord = record.map { $0.token.id.turn == turn && $0.token.id.holder == sender } == true
    if !isOfRecord { lapseIfDue(now: now) }
    let token = Token(
      id: TokenID(turn: turn, holder: sender, seat: seat), floorClass: floorClass)
    return hearsTalker(token, chain: [], now: now) ? token : nil
  }

  /// The holder itself talks under `token`: true when that is the token of record now.
  private mutating func hearsTalker(_ token: Token, chain: [Grant], now: Instant) -> Bool {
    guard token.id.holder != me else { return false }
    if let current = record, current.token.id == token.id {
      guard current.talking, current.token.floorClass == token.floorClass else { return false }
      guard !isOverLimit(current, now: now) else {
        talkEnds(current, now: now)
        return false
      }
      confirm(now: now)
      return true
    }
    guard !evadesLimit(token.id, now: now) else { return false }
    guard believes(token.id.turn, now: now) else {
      putOffClaim(now: now)
      return false
    }
    let verdict = judge(token, talking: true, chain: chain, now: now)
    if verdict != .refused {
      adopt(
        token, talking: true, chain: chain, firstHand: true, verdict: verdict, now: now)
      return true
    }
    if case .talking(let talking) = local, over.overSince(token.id) == nil,
      members[token.id.holder]?.may(token.floorClass) == true
    {
      return meetRival(token, talking, now: now)
    }
    objectIfStale(token, now: now)
    return false
  }

  /// Somebody is heard to talk whose turn is not believed yet: no claim goes over its head.
  private mutating func putOffClaim(now: Instant) {
    guard case .asking(var asking) = local, asking.claim != nil else { return }
    asking.claim!.until = max(asking.claim!.until, now + timers.lease)
    asking.claim!.answered = false
    local = .asking(asking)
  }

  /// Two holders hear each other: true when the other one is ahead, and we have stopped.
  private mutating func meetRival(_ rival: Token, _ talking: Talking, now: Instant) -> Bool {
    guard outranks(rival, talking.token) else {
      // We stay by our class; whoever took our turn for over must see a higher one to believe it.
      guard isAhead(rival.id, of: talking.token.id) else {
        objectIfStale(rival, now: now)
        return false
      }
      if renumber(talking, above: rival.id.turn, now: now) { return false }
      // Without such a turn nobody would believe us: we ask for the floor, and our class gets it.
      return yield(to: rival, talking, now: now)
    }
    return yield(to: rival, talking, now: now)
  }

  /// We stop within this frame.
  private mutating func yield(to rival: Token, _ talking: Talking, now: Instant) -> Bool {
    adopt(rival, talking: true, chain: [], firstHand: true, verdict: .newer, now: now)
    emit(.send(.release(token: talking.token, lastFrame: lastFrame), to: .everyone))
    return true
  }

  /// The talker of record was heard at first hand: its lease starts again, and a lapsed token that
  /// nobody succeeded resumes.
  private mutating func confirm(now: Instant) {
    guard record != nil else { return }
    if !record!.confirmed {
      let id = record!.token.id
      repeats.removeAll { $0.token == id }
    }
    record!.confirmed = true
    record!.lastHeard = now
    guard record!.lapsed else { return }
    record!.lapsed = false
    exchange.begin(record!.token.id, hangTime: timers.hangTime, now: now)
    emit(.talker(record!.token))
    if case .asking(var asking) = local {
      asking.claim = nil
      asking.sends = 0
      asking.nextSend = now
      local = .asking(asking)
    }
  }

  /// Tells a talker whose token is over here that it is, at most once in a while, some of us.
  private mutating func objectIfStale(_ token: Token, now: Instant) {
    guard let record, isSampled(token.id.turn) else { return }
    let overSince = over.overSince(token.id)
    if let overSince, now - overSince < timers.staleGrace { return }
    if overSince == nil, isAhead(token.id, of: record.token.id) { return }
    if let lastStale, now - lastStale < timers.staleInterval { return }
    lastStale = now
    emit(
      .send(
        .stale(
          token: token, idle: !isLive(record, now: now),
          age: age(of: overSince ?? record.lastHeard, now: now), highestTurn: highestHeard),
        to: .peer(token.id.holder)))
  }

  /// Milliseconds since `instant`, as the wire holds them.
  func age(of instant: Instant, now: Instant) -> UInt16 {
    UInt16(clamping: (now - instant).wholeNanoseconds / 1_000_000)
  }

  /// True for about six members: enough answers, however many there are (invariant C1). Each
  /// repeat asks others, so that a sample of none is not asked for ever.
  func isSampled(_ request: FloorRequest) -> Bool {
    isSampled(request.request &+ UInt64(request.attempt) << 32)
  }

  /// The same for what has no repeats.
  func isSampled(_ salt: UInt64) -> Bool {
    let count = UInt64(presentCount)
    guard count > 6 else { return true }
    let mixed = (salt ^ me.value.low) &* 0x9e37_79b9_7f4a_7c15
    return (mixed >> 32) % count < 6
  }

  /// An authenticated floor message of a member.
  package mutating func receive(_ message: FloorMessage, from sender: PeerID, now: Instant) {
    guard sender != me, let index = members.index(of: sender),
      members[at: index].budget.take(now: now)
    else {
      refusedMessages += 1
      return
    }
    fenceIfStalled(now: now)
    lapseIfDue(now: now)
    switch message {
    case .request(let request): receive(request, from: sender, now: now)
    case .grant(let chain, let queue):
      receiveGrant(chain, queue: queue, from: sender, now: now)
    case .taken(let token, let talking, let chain, let entries):
      receiveTaken(token, talking: talking, chain: chain, entries, from: sender, now: now)
    case .heartbeat(let token, let talking, _, let digest):
      guard token.id.holder == sender else { return }
      receiveState(token, talking: talking, chain: [], now: now)
      askForQueue(digest: digest, token: token, now: now)
    case .release(let token, let lastFrame):
      guard token.id.holder == sender else { return }
      receiveRelease(token, lastFrame: lastFrame, now: now)
    case .queue(let asking, let token, let entries):
      receiveQueue(asking: asking, token, entries, from: sender, now: now)
    case .cancel(let request, let requester, let seat):
      guard requester == sender else { return }
      receiveCancel(request, requester, seat: seat, now: now)
    case .deny(let request, let seat, let reason):
      receiveDeny(request, seat: seat, reason, from: sender)
    case .fence(let token): answerFence(token, from: sender, now: now)
    case .stale(let token, let idle, _, let highest):
      receiveStale(token, idle: idle, highestTurn: highest, now: now)
    case .vacant, .alive, .none, .unreached: receiveAnswer(message, from: sender, now: now)
    }
  }

  /// The holder or keeper itself says how its token stands.
  private mutating func receiveState(
    _ token: Token, talking: Bool, chain: [Grant], now: Instant
  ) {
    if talking {
      _ = hearsTalker(token, chain: chain, now: now)
      return
    }
    if record?.token.id == token.id {
      if record!.talking { receiveRelease(token, lastFrame: .max, now: now) }
      record!.lastHeard = now
      return
    }
    guard believes(token.id.turn, now: now) else { return }
    let verdict = judge(token, talking: false, chain: chain, now: now)
    guard verdict != .refused else { return }
    adopt(token, talking: false, chain: chain, firstHand: true, verdict: verdict, now: now)
  }

  private mutating func receiveTaken(
    _ token: Token, talking: Bool, chain: [Grant], _ entries: [QueueEntry],
    from sender: PeerID, now: Instant
  ) {
    if token.id.holder == sender {
      receiveState(token, talking: talking, chain: chain, now: now)
    } else if token.id.holder != me,
      judge(token, talking: talking, chain: chain, now: now) == .succeeds
    {
      adopt(
        token, talking: talking, chain: chain, firstHand: false, verdict: .succeeds, now: now)
    } else if case .asking(var asking) = local, members[token.id.holder]?.present == true,
      record == nil || record!.token.id != token.id, token.id.holder != me
    {
      // A redirect: ask that holder too, and give it a window to answer.
      let request = FloorRequest(
        request: asking.request, requester: me, seat: asking.seat,
        floorClass: asking.floorClass, spread: .direct, counter: highestTurn)
      emit(.send(.request(request), to: .peer(token.id.holder)))
      asking.claim?.until = now + timers.claimWindow
      local = .asking(asking)
    }
    takeQueue(entries, of: token, now: now)
  }

  private mutating func receiveRelease(_ token: Token, lastFrame: UInt32, now: Instant) {
    guard record?.token.id == token.id else {
      // Its burst passed us by; its holder is keeper all the same.
      let verdict = judge(token, talking: false, chain: [], now: now)
      if verdict != .refused {
        adopt(token, talking: false, chain: [], firstHand: true, verdict: verdict, now: now)
      }
      over.insert(token.id, at: now)
      return
    }
    over.insert(token.id, at: now)
    guard record!.talking else { return }
    let rendered = !record!.lapsed
    if rendered { talkEnds(record!, now: now) }
    record!.talking = false
    record!.lapsed = false
    record!.lastHeard = now
    if rendered { emit(.talkerDone(token, lastFrame: lastFrame)) }
    if case .asking(var asking) = local {
      asking.queuedPlace = nil
      asking.sends = 0
      asking.nextSend = now
      local = .asking(asking)
    }
  }

  // MARK: The queue

  private mutating func receiveQueue(
    asking: Bool, _ token: Token, _ entries: [QueueEntry], from sender: PeerID, now: Instant
  ) {
    if asking {
      guard isHolderOrKeeper else { return }
      tellState(to: sender)
    } else if token.id.holder == sender {
      takeQueue(entries, of: token, now: now)
      passOnQueue(entries, of: token, now: now)
    }
  }

  /// Takes over a replicated queue but for requests that are over: a holder behind a cut may not
  /// have heard of their end.
  private mutating func replaceQueue(with entries: [QueueEntry], now: Instant) {
    let waiting = entries.filter { !spent.contains($0.request, of: $0.peer, seat: $0.seat) }
    queue.replace(with: waiting, now: now)
  }

  /// Tells a holder that has an earlier request of ours in its queue that nobody waits there.
  private mutating func takeBackOldRequests(in entries: [QueueEntry], of token: Token) {
    for entry in entries where entry.peer == me {
      if case .asking(let asking) = local, asking.request == entry.request { continue }
      emit(
        .send(
          .cancel(request: entry.request, requester: me, seat: entry.seat),
          to: .peer(token.id.holder)))
    }
  }

  /// Takes over the queue of the token of record, and learns our own place from it.
  mutating func takeQueue(_ entries: [QueueEntry], of token: Token, now: Instant) {
    guard !isHolderOrKeeper else { return }
    let isOfRecord = record?.token.id == token.id
    if isOfRecord {
      replaceQueue(with: entries, now: now)
      takeBackOldRequests(in: entries, of: token)
    }
    guard case .asking(var asking) = local else { return }
    let place = entries.firstIndex { $0.peer == me && $0.seat == asking.seat }
    if let place, entries[place].request == asking.request {
      // A member may tell it who hears the holder while we do not: then our place is all we know.
      guard isOfRecord || members[token.id.holder]?.present != true else { return }
      let changed = asking.queuedPlace != place
      asking.queuedPlace = place
      asking.placeUntil = now + timers.forwardMemory
      asking.claim = nil
      asking.nextSend = now + timers.queuedRepeat
      local = .asking(asking)
      if changed { emit(.queued(place: place + 1)) }
    } else if isOfRecord, asking.queuedPlace != nil {
      asking.queuedPlace = nil
      asking.placeUntil = nil
      asking.sends = 0
      asking.nextSend = now
      local = .asking(asking)
    }
  }

  /// The holder refuses our request, or one that we passed on. A member between us and a holder
  /// whom we do not reach may tell it.
  private mutating func receiveDeny(
    _ request: UInt64, seat: UInt16, _ reason: DenyReason, from sender: PeerID
  ) {
    passOnDeny(request, seat: seat, reason)
    guard case .asking(let asking) = local, asking.request == request, asking.seat == seat,
      let holder = record?.token.id.holder,
      holder == sender || members[holder]?.present != true
    else { return }
    local = .quiet
    emit(.denied(reason))
  }

  /// Asks for the queue when the heartbeat's digest says that ours is another.
  private mutating func askForQueue(digest: UInt32, token: Token, now: Instant) {
    guard record?.token.id == token.id, digest != queue.digest else { return }
    if let lastQueueAsk, now - lastQueueAsk < timers.talkingHeartbeat { return }
    lastQueueAsk = now
    emit(
      .send(.queue(asking: true, token: token, entries: []), to: .peer(token.id.holder)))
  }

  private mutating func receiveCancel(
    _ request: UInt64, _ requester: PeerID, seat: UInt16, now: Instant
  ) {
    forwards.removeAll { $0.request == request && $0.requester == requester }
    spent.note(request, of: requester, seat: seat)
    rivalWithdrew(request, now: now)
    guard let place = queue.place(of: requester, seat: seat),
      queue.entries[place].request == request
    else { return }
    _ = queue.remove(requester, seat: seat)
    if isHolderOrKeeper { announceQueue() }
  }

  // MARK: Requests and grants

  private mutating func receive(_ request: FloorRequest, from sender: PeerID, now: Instant) {
    guard request.requester != me, let member = members[request.requester],
      request.requester == sender
        || request.spread == .forwarded && isSigned(request, by: member.signingKey)
    else {
      refusedMessages += 1
      return
    }
    var request = request
    request.counter = min(request.counter, highestTurn + Self.turnJumpLimit)
    if isHolderOrKeeper {
      guard !spent.contains(request.request, of: request.requester, seat: request.seat) else {
        return
      }
      giveWay(to: request, now: now)
      answerAsHolder(request, from: sender, now: now)
    } else if let record, let grant = record.chain.last, grant.request == request.request,
      grant.to.id.holder == request.requester, grant.to.id == record.token.id
    {
      // Its grant was lost on the way: the same once more, whoever gave it.
      emit(
        .send(.grant(chain: record.chain, queue: queue.entries), to: .peer(request.requester)))
    } else if !spent.contains(request.request, of: request.requester, seat: request.seat) {
      giveWay(to: request, now: now)
      answerAsMember(request, now: now)
    }
  }

  /// True when the asker itself has signed a request that another member passes on.
  private func isSigned(_ request: FloorRequest, by key: Key32) -> Bool {
    Ed25519.verify(
      request.signature.bytes, of: request.signedBytes(channel: channel), by: key)
  }

  /// A grant that was used answers no request any more.
  private mutating func noteSpent(_ grant: Grant) {
    spent.note(grant.request, of: grant.to.id.holder, seat: grant.to.id.seat)
  }

  private mutating func receiveGrant(
    _ chain: [Grant], queue entries: [QueueEntry], from sender: PeerID, now: Instant
  ) {
    guard let newest = chain.last, newest.to.id.turn > newest.from.id.turn, verifies(newest)
    else {
      refusedMessages += 1
      return
    }
    guard believes(newest.to.id.turn, now: now) else { return }
    // The queue is not signed: only the two holders tell it.
    let isTold = sender == newest.from.id.holder || sender == newest.to.id.holder
    let entries = isTold ? entries : queue.entries.filter { $0.peer != newest.to.id.holder }
    passOnGrant(chain, entries, newest, from: sender)
    guard record?.token.id != newest.to.id else {
      takeQueue(entries, of: newest.to, now: now)
      return
    }
    for grant in chain.dropLast() { noteSpent(grant) }
    if newest.to.id.holder == me { noteTurn(newest.to.id.turn) }
    if case .talking(let talking) = local, talking.request == newest.request,
      newest.to.id.holder == me, newest.to.id.seat == talking.token.id.seat,
      newest.to.floorClass == talking.token.floorClass,
      newest.to.id.turn > talking.token.id.turn
    {
      // Two keepers who can't hear each other have granted one request: we go on under the later
      // token, for some wait for that one.
      renumber(talking, to: newest.to, now: now)
      return
    }
    settle(newest, chain, entries, now: now)
  }

  /// Takes a grant that stands for what it says: to us, to another, or of the idle floor.
  private mutating func settle(
    _ newest: Grant, _ chain: [Grant], _ entries: [QueueEntry], now: Instant
  ) {
    let kept = newest.request == 0
    var isWanted = false
    if newest.to.id.holder == me, case .asking(let asking) = local {
      isWanted = asking.request == newest.request && asking.seat == newest.to.id.seat
    }
    let verdict = judge(newest.to, talking: !kept, chain: chain, byClass: isWanted, now: now)
    guard verdict != .refused else { return }
    guard newest.to.id.holder == me else {
      adopt(
        newest.to, talking: !kept, chain: chain, firstHand: false, verdict: verdict, now: now)
      takeQueue(entries, of: newest.to, now: now)
      passOnQueue(entries, of: newest.to, now: now)
      return
    }
    guard isWanted else {
      takeUnwantedGrant(newest.to, chain: chain, entries, now: now)
      return
    }
    guard let (token, chain) = risen(newest.to, chain, request: newest.request) else { return }
    beginTalking(token, chain: chain, request: newest.request, now: now)
    replaceQueue(with: entries, now: now)
    emit(
      .send(
        .taken(token: token, talking: true, chain: chain, queue: queue.entries),
        to: .everyone))
  }

  /// The floor came to us though nobody here wants it any more: it goes to the next, or we keep it.
  private mutating func takeUnwantedGrant(
    _ token: Token, chain: [Grant], _ entries: [QueueEntry], now: Instant
  ) {
    let previous = record?.token ?? token
    retireRecord(now: now, cut: false)
    record = Record(
      token: token, talking: false, chain: chain, previous: previous, lastHeard: now, since: now,
      limitStart: now, confirmed: true)
    noteTurn(token.id.turn)
    replaceQueue(with: entries, now: now)
    if case .asking(let asking) = local {
      startOwnBurst(asking, now: now)
      return
    }
    guard !grantNext(now: now) else { return }
    over.insert(token.id, at: now)
    keepIdle(now: now)
    sendRepeated(
      .release(token: token, lastFrame: 0), to: .everyone,
      gaps: Array(timers.releaseRepeats.dropFirst()), token: nil, now: now)
  }
}
