import TalkCore
import TalkWire

/// The floor without its keeper: answers of members, claims, and the holder's own fence.
extension FloorMachine {
  // MARK: Answering

  /// A request reached a member that neither holds nor keeps.
  mutating func answerAsMember(_ request: FloorRequest, now: Instant) {
    let asker = FloorAudience.peer(request.requester)
    guard let record else {
      guard request.spread != .forwarded else { return }
      emit(.send(.none(request: request.request, highestTurn: highestHeard), to: asker))
      return
    }
    if isLive(record, now: now) {
      answerLive(request, record, now: now)
      return
    }
    guard isSampled(request), request.spread != .forwarded else { return }
    if record.talking {
      // Lapsed here: we have heard no talker for a lease, if we were up that long.
      guard now - started >= timers.lease else { return }
      emit(
        .send(
          .vacant(request: request.request, highestTurn: highestHeard, token: record.token),
          to: asker))
      return
    }
    let keeper = record.token.id.holder
    if keeper == request.requester {
      emit(.send(.none(request: request.request, highestTurn: highestHeard), to: asker))
    } else if members[keeper]?.present != true {
      emit(.send(.unreached(request: request.request, highestTurn: highestHeard), to: asker))
    } else {
      forward(request, to: keeper, now: now)
    }
  }

  /// Somebody talks here: the asker learns who, and the holder learns of the request.
  private mutating func answerLive(_ request: FloorRequest, _ record: Record, now: Instant) {
    let holder = record.token.id.holder
    let asker = FloorAudience.peer(request.requester)
    switch request.spread {
    case .direct:
      emit(
        .send(
          .taken(
            token: record.token, talking: true, chain: record.chain, queue: queue.entries),
          to: asker))
    case .everyone:
      guard isSampled(request) else { return }
      emit(
        .send(
          .alive(
            request: request.request, token: record.token,
            age: age(of: record.lastHeard, now: now)), to: asker))
      guard holder != request.requester else { return }
      forward(request, to: holder, now: now)
    case .forwarded: break
    }
  }

  // MARK: Claiming

  /// A member answered our broadcast request without a grant.
  mutating func receiveAnswer(_ message: FloorMessage, from sender: PeerID, now: Instant) {
    if case .talking(var talking) = local, talking.fencedUntil != nil,
      case .alive(0, let token, _) = message, token.id == talking.token.id
    {
      // Our token stands. If it was succeeded after all, listeners refuse our frames and say so.
      talking.fencedUntil = nil
      local = .talking(talking)
      return
    }
    guard case .asking(var asking) = local else { return }
    if case .vacant(asking.request, _, _) = message, asking.queuedPlace != nil,
      record.map({ isLive($0, now: now) }) != true
    {
      // The holder whom others heard for us is gone: its queue means nothing any more.
      asking.queuedPlace = nil
      asking.placeUntil = nil
      asking.claim = Claim(until: now + timers.claimWindow)
    }
    guard asking.claim != nil else { return }
    func note(_ turn: UInt64) {
      guard turn <= highestTurn + Self.turnJumpLimit else { return }
      asking.claim!.highestTurn = max(asking.claim!.highestTurn, turn)
      // The reserve above it is on the disk before the window is over.
      noteTurn(turn)
    }
    switch message {
    case .none(asking.request, let turn), .unreached(asking.request, let turn):
      note(turn)
      // A talker whom we still hear is not gone, whatever a member knows that never had its token.
      if record?.talking != true || record?.lapsed == true { asking.claim!.answered = true }
    case .vacant(asking.request, let turn, _):
      note(turn)
      if record?.talking != true || record?.lapsed == true { asking.claim!.answered = true }
    case .alive(asking.request, let token, let age):
      guard over.overSince(token.id) == nil, !overrides(asking, now: now) else { break }
      // Somebody is there: the press is not unheard, however long the talker goes on. What the
      // member says once its lease has ended too is asked for when that is.
      let left = max(timers.lease - .milliseconds(Int(age)), .zero)
      asking.claim!.until = max(asking.claim!.until, now + left)
      asking.claim!.answered = false
      asking.claim!.windows = 0
      asking.nextSend = min(asking.nextSend, now + left + .milliseconds(1))
    default: return
    }
    local = .asking(asking)
    // The keeper that nobody had told "I hear you" needs one answer, no window.
    if isHolderOrKeeper, record?.talking == false, asking.claim!.answered {
      startOwnBurst(asking, now: now, above: asking.claim!.highestTurn)
    }
  }

  /// How many turns a claim leaves free below its own.
  static let claimStep: UInt64 = 16

  /// A rival to whom we gave way takes its request back: its window is ours again.
  mutating func rivalWithdrew(_ request: UInt64, now: Instant) {
    guard case .asking(var asking) = local, var claim = asking.claim,
      let index = claim.rivals.firstIndex(of: request)
    else { return }
    claim.rivals.remove(at: index)
    claim.until = max(now, claim.until - timers.claimWindow)
    asking.claim = claim
    local = .asking(asking)
  }

  /// The window of our claim is over.
  mutating func endClaimWindow(now: Instant) {
    guard case .asking(var asking) = local, var claim = asking.claim else { return }
    guard hasQuorum else {
      giveUp(asking, .minority, now: now)
      return
    }
    let live = record.map { isLive($0, now: now) } == true
    let overridden = overrides(asking, now: now)
    if claim.answered || (overridden && hearsUs(now: now)), !live || overridden {
      asking.claim = nil
      // Above what a keeper may give itself meanwhile that hears nobody: it must not end our burst.
      let above = max(claim.highestTurn, highestTurn) + Self.claimStep
      startOwnBurst(asking, now: now, above: above)
      return
    }
    claim.windows += 1
    guard claim.windows < timers.windowsUnheard || live else {
      giveUp(asking, presentCount == 0 ? .alone : .noAnswer, now: now)
      return
    }
    claim.until = now + timers.claimWindow
    claim.answered = false
    asking.claim = claim
    asking.sends = max(asking.sends, 1)
    asking.nextSend = now
    local = .asking(asking)
  }

  /// Two claims in one window: the later in (class, place, hash) waits one window more, once for
  /// each rival request, then claims.
  mutating func giveWay(to rival: FloorRequest, now: Instant) {
    guard rival.spread == .everyone, case .asking(var asking) = local, asking.claim != nil,
      !asking.claim!.rivals.contains(rival.request), asking.claim!.rivals.count < 16
    else { return }
    let ours = orderHash(TokenID(turn: asking.request, holder: me, seat: asking.seat))
    let theirs = orderHash(
      TokenID(turn: rival.request, holder: rival.requester, seat: rival.seat))
    let ourPlace = queue.place(of: me, seat: asking.seat) ?? FloorMessage.queueLimit
    let theirPlace =
      queue.place(of: rival.requester, seat: rival.seat) ?? FloorMessage.queueLimit
    let theyAreFirst =
      asking.floorClass != rival.floorClass
      ? rival.floorClass > asking.floorClass
      : (theirPlace, theirs) < (ourPlace, ours)
    guard theyAreFirst else { return }
    asking.claim!.rivals.append(rival.request)
    asking.claim!.until += timers.claimWindow
    local = .asking(asking)
  }

  // MARK: The holder's fence

  /// Our loop stood still while we talk: ask whether our token stands before another frame leaves.
  mutating func fenceIfStalled(now: Instant) {
    defer { lastStep = now }
    guard now - lastStep > timers.fence, case .talking(var talking) = local,
      talking.fencedUntil == nil
    else { return }
    talking.fencedUntil = now + timers.claimWindow
    local = .talking(talking)
    emit(.send(.fence(token: talking.token), to: .everyone))
  }

  /// A fenced holder asks whether its token stands.
  mutating func answerFence(_ token: Token, from sender: PeerID, now: Instant) {
    guard token.id.holder == sender, isSampled(token.id.turn), let record else { return }
    if record.token.id == token.id, record.talking {
      emit(
        .send(
          .alive(request: 0, token: token, age: age(of: record.lastHeard, now: now)),
          to: .peer(sender)))
    } else {
      emit(
        .send(
          .stale(
            token: token, idle: !isLive(record, now: now),
            age: age(of: over.overSince(token.id) ?? record.lastHeard, now: now),
            highestTurn: highestHeard), to: .peer(sender)))
    }
  }

  /// A listener says that our token is over: if nobody else talks there we take a new turn, else
  /// we stop.
  mutating func receiveStale(
    _ token: Token, idle: Bool, highestTurn turn: UInt64, now: Instant
  ) {
    guard case .talking(let talking) = local, talking.token.id == token.id,
      turn <= highestTurn + Self.turnJumpLimit
    else { return }
    if idle {
      renumber(talking, above: turn, now: now)
    } else if talking.fencedUntil != nil {
      endOwnBurst(talking, .lost, now: now)
      askAgain(after: talking, now: now)
    }
  }

  /// Goes on under a turn above `turn`, by a grant to ourselves that every listener follows.
  ///
  /// False while the disk has no such turn.
  @discardableResult
  mutating func renumber(_ talking: Talking, above turn: UInt64, now: Instant) -> Bool {
    guard let next = newTurn(above: turn) else { return false }
    var renewed = talking.token
    renewed.id.turn = next
    renumber(talking, to: renewed, now: now)
    return true
  }

  /// Goes on under another token of ours.
  mutating func renumber(_ talking: Talking, to renewed: Token, now: Instant) {
    guard let current = record else { return }
    var talking = talking
    let old = talking.token
    let chain = extend(current.chain, from: old, to: renewed, request: talking.request)
    over.insert(old.id, at: now)
    record!.token = renewed
    record!.chain = chain
    record!.previous = old
    noteTurn(renewed.id.turn)
    ownTurn = renewed.id.turn
    talking.token = renewed
    talking.fencedUntil = nil
    local = .talking(talking)
    emit(.renumberTransmit(renewed))
    emit(.send(.grant(chain: chain, queue: queue.entries), to: .everyone))
  }
}
