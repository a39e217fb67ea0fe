import TalkCore
import TalkCrypto
import TalkWire

/// Whose token wins here (floor.md, "A listener with current token C meets token N").
extension FloorMachine {
  /// The highest jump of turns that is believed (floor.md, "Token and order").
  static let turnJumpLimit: UInt64 = 1 << 20
  /// The highest first turn that somebody new believes at once.
  static let firstTurnLimit: UInt64 = 1 << 24

  /// How a token stands against the token of record.
  enum Verdict {
    /// It does not take its place.
    case refused
    /// It is the first one heard of, or newer than an idle or lapsed one.
    case newer
    /// Signed grants lead to it.
    case succeeds
    /// Its class stops the talker of record.
    case preempts
  }

  /// Whether token `next` takes the place of the token of record, and why.
  ///
  /// Only who is heard itself wins by its class (`byClass`): a grant that somebody passes on, or
  /// plays again, does not prove that its holder talks.
  func judge(
    _ next: Token, talking: Bool, chain: [Grant], byClass: Bool = true, now: Instant
  ) -> Verdict {
    let preempts = talking && byClass && next.floorClass.preempts
    // A keeper's idle token is over as a burst, and still says who keeps.
    guard !talking || over.overSince(next.id) == nil else { return .refused }
    if let member = members[next.id.holder] {
      guard !talking || member.may(next.floorClass) else { return .refused }
    } else {
      guard next.id.holder == me else { return .refused }
    }
    guard next.id.turn <= highestTurn + jumpLimit else { return .refused }
    guard let record else { return .newer }
    if descends(next, from: record.token, through: chain) { return .succeeds }
    guard isLive(record, now: now) else {
      if preempts { return .newer }
      return isAhead(next.id, of: record.token.id) ? .newer : .refused
    }
    return preempts && next.floorClass > record.token.floorClass ? .preempts : .refused
  }

  /// Rule 4: the higher turn, or at equal turns the smaller hash.
  func isAhead(_ next: TokenID, of current: TokenID) -> Bool {
    guard next.turn == current.turn else { return next.turn > current.turn }
    return orderHash(next) < orderHash(current)
  }

  /// Of two talking holders that hear each other, true when `left` goes on: class, turn, hash.
  func outranks(_ left: Token, _ right: Token) -> Bool {
    if left.floorClass != right.floorClass,
      left.floorClass.preempts || right.floorClass.preempts
    {
      return left.floorClass > right.floorClass
    }
    return isAhead(left.id, of: right.id)
  }

  /// The fair, unkeyed order of equal turns: BLAKE2b-64("talkaround floor v1" ‖ channel ‖ turn ‖
  /// PeerID ‖ seat), the first 8 of 16 bytes, since libsodium's least output is 16.
  func orderHash(_ id: TokenID) -> UInt64 {
    var hash = Blake2b(size: 16)
    hash.update("talkaround floor v1")
    hash.update(channel.value)
    hash.update(id.turn, width: 6)
    hash.update(id.holder.value)
    hash.update(UInt64(id.seat), width: 2)
    return hash.finalize16().high
  }

  /// Rule 2: true when verified grants lead from `current` to `next`.
  func descends(_ next: Token, from current: Token, through chain: [Grant]) -> Bool {
    guard let start = chain.firstIndex(where: { $0.from.id == current.id }) else { return false }
    var token = current
    for grant in chain[start...] {
      guard grant.from.id == token.id, grant.to.id.turn > grant.from.id.turn, verifies(grant)
      else { return false }
      token = grant.to
    }
    return token.id == next.id && token.floorClass == next.floorClass
  }

  /// True when a grant bears its granting holder's signature; those of record are known to.
  func verifies(_ grant: Grant) -> Bool {
    if record?.chain.contains(grant) == true { return true }
    let holder = grant.from.id.holder
    let key = holder == me ? identity.publicIdentity.signing : members[holder]?.signingKey
    guard let key else { return false }
    return Ed25519.verify(
      grant.signature.bytes, of: grant.signedBytes(channel: channel), by: key)
  }

  /// Takes `next` as the token of record. A succession lets the last talker's buffered voice play
  /// out; a pre-emption cuts it.
  mutating func adopt(
    _ next: Token, talking: Bool, chain: [Grant], firstHand: Bool, verdict: Verdict, now: Instant
  ) {
    if let current = record, talking, current.isRenumbered(as: next, by: verdict) {
      over.insert(current.token.id, at: now)
      record!.token = next
      record!.chain = chain
      record!.previous = current.token
      record!.lastHeard = now
      noteTurn(next.id.turn)
      emit(.talkerRenumbered(current.token, to: next))
      return
    }
    let previous = record?.token ?? next
    retireRecord(now: now, cut: verdict == .preempts)
    record = Record(
      token: next, talking: talking, chain: chain, previous: previous, lastHeard: now, since: now,
      limitStart: limitStart(of: next.id, now: now), confirmed: firstHand)
    noteTurn(next.id.turn)
    nextHeartbeat = nil
    if talking {
      exchange.begin(next.id, hangTime: timers.hangTime, now: now)
      emit(.talker(next))
    }
    if case .asking(var asking) = local {
      asking.claim = nil
      asking.sends = asking.queuedPlace == nil ? 0 : asking.sends
      asking.nextSend = now + timers.requestRepeat
      if talking, asking.queuedPlace == nil { asking.nextSend = now }
      local = .asking(asking)
    }
  }

  /// The token of record is over; if it was our burst, or one that is rendered, that ends.
  mutating func retireRecord(now: Instant, cut: Bool) {
    guard let record else { return }
    over.insert(record.token.id, at: now)
    repeats.removeAll { $0.token == record.token.id }
    if record.talking, !record.lapsed { talkEnds(record, now: now) }
    if record.token.id.holder == me {
      if case .talking(let talking) = local, talking.token.id == record.token.id {
        lastBurst = (talking.limitStart, now)
        local = .quiet
        emit(.stopTransmit(talking.token, .lost))
        askAgain(after: talking, now: now)
      }
    } else if record.talking, !record.lapsed {
      emit(cut ? .talkerCut(record.token) : .talkerDone(record.token, lastFrame: .max))
    }
  }

  /// Our burst ended against our will: if the key is still down we wait for the floor.
  mutating func askAgain(after talking: Talking, now: Instant) {
    guard talking.tailUntil == nil else { return }
    nextRequest += 1
    local = .asking(
      Asking(
        request: nextRequest, seat: talking.token.id.seat,
        floorClass: talking.token.floorClass, pressed: now, nextSend: now))
  }

  /// The lease of the talker of record ended here: nobody talks, as far as we know.
  mutating func lapseIfDue(now: Instant) {
    guard var current = record, current.talking, !current.lapsed,
      current.token.id.holder != me
    else { return }
    let overLimit = isOverLimit(current, now: now)
    guard overLimit || now >= current.lastHeard + timers.lease else { return }
    talkEnds(current, now: overLimit ? now : current.lastHeard)
    current.lapsed = true
    record = current
    emit(.talkerDone(current.token, lastFrame: .max))
    tellForwardedOfLapse()
    if !current.confirmed, current.chain.last?.from.id.holder == me {
      reclaimAt = now + timers.reclaim
    }
    guard case .asking(var asking) = local else { return }
    // Successors claim in the order of the queue, so that one of them speaks, not all.
    let place = asking.queuedPlace ?? 0
    asking.queuedPlace = nil
    asking.sends = 1
    asking.nextSend = now + timers.successorStep * place
    asking.claim = nil
    local = .asking(asking)
  }

  /// True when a turn may be: no more than the limit above all that we know. One that is further
  /// off is believed in steps, one for each frame's time: a member who was told a lie that we were
  /// not talks on far above us and is heard from its next frame on, and yet no lie uses up turns
  /// faster than that.
  mutating func believes(_ turn: UInt64, now: Instant) -> Bool {
    guard turn > highestTurn + jumpLimit else { return true }
    if let lastJump, now - lastJump < timers.jumpStep { return false }
    lastJump = now
    noteTurn(highestTurn + jumpLimit)
    return false
  }

  /// How far above all that we know a turn may be: a newcomer, who knows none, believes what a
  /// channel has used in years.
  private var jumpLimit: UInt64 { record == nil ? Self.firstTurnLimit : Self.turnJumpLimit }

  /// The token under which we use a grant: its own, or one above our earlier turns, granted to
  /// ourselves, when the granter did not know of those (S7). Nil while the disk has no such turn.
  func risen(_ token: Token, _ chain: [Grant], request: UInt64) -> (Token, [Grant])? {
    guard token.id.turn <= ownTurn else { return (token, chain) }
    var risen = token
    risen.id.turn = highestTurn + 1
    guard risen.id.turn <= reserved else { return nil }
    return (risen, extend(chain, from: token, to: risen, request: request))
  }

  // MARK: The talk limit and the exchange

  /// True when the talker of record goes on beyond the limit and its grace.
  func isOverLimit(_ record: Record, now: Instant) -> Bool {
    now > record.limitStart + timers.talkLimit + timers.limitGrace
  }

  /// Since when the limit counts for a talker that begins now: taps in a row count as one burst,
  /// whatever the talker's own machine says.
  func limitStart(of token: TokenID, now: Instant) -> Instant {
    guard let lastTalk, lastTalk.holder == token.holder, lastTalk.seat == token.seat,
      now - lastTalk.end <= timers.limitMemoryOfListeners
    else { return now }
    return now - (lastTalk.end - lastTalk.limitStart)
  }

  /// True when a talker begins anew though its taps have used up the limit. While it goes on, the
  /// pause that would give it a new one has not begun.
  mutating func evadesLimit(_ token: TokenID, now: Instant) -> Bool {
    guard now > limitStart(of: token, now: now) + timers.talkLimit + timers.limitGrace else {
      return false
    }
    lastTalk!.limitStart = limitStart(of: token, now: now)
    lastTalk!.end = now
    return true
  }

  /// A talker is done here, for whatever reason.
  mutating func talkEnds(_ record: Record, now: Instant) {
    exchange.end(now: now)
    let id = record.token.id
    if record.confirmed, let grant = record.chain.last, grant.to.id == id {
      spent.note(grant.request, of: id.holder, seat: id.seat)
    }
    lastTalk = (id.holder, id.seat, record.limitStart, now)
  }

  /// Raises the highest turn seen, and the reserve on disk with it.
  mutating func noteTurn(_ turn: UInt64) {
    highestTurn = max(highestTurn, turn)
    highestHeard = max(highestHeard, turn)
    reserveAhead()
  }

  /// Asks for 1,024 more turns once half of the reserve is used.
  mutating func reserveAhead() {
    guard highestTurn + 512 > reserveAsked else { return }
    reserveAsked = highestTurn + 1_024
    emit(.reserveTurns(through: reserveAsked))
  }

  /// A turn above all that were seen; nil while the reserve is not on disk, or when turns ran out.
  mutating func newTurn(above turn: UInt64) -> UInt64? {
    let next = max(highestTurn, turn) + 1
    guard next <= Token.turnLimit, turn <= highestTurn + Self.turnJumpLimit else { return nil }
    guard next <= reserved else {
      highestTurn = next - 1
      reserveAhead()
      lacksTurn = true
      return nil
    }
    return next
  }

  /// Asks again for a reserve that failed, and does what waited for one.
  mutating func wakeReserve(now: Instant) {
    if let retry = reserveRetry, retry <= now {
      reserveRetry = nil
      reserveAhead()
    }
    guard lacksTurn, highestTurn < reserved else { return }
    lacksTurn = false
    if case .asking(let asking) = local, let above = asking.readyAbove {
      startOwnBurst(asking, now: now, above: above)
    } else if let record, isHolderOrKeeper, !record.talking {
      _ = grantNext(now: now)
    }
  }
}

extension FloorMachine.Record {
  /// True when `next` is this burst under another turn: its holder has granted it to itself, as at
  /// the end of a partition. Decoder, jitter and limit go on.
  func isRenumbered(as next: Token, by verdict: FloorMachine.Verdict) -> Bool {
    verdict == .succeeds && talking && !lapsed && next.id.holder == token.id.holder
      && next.id.seat == token.id.seat && next.floorClass == token.floorClass
  }
}
