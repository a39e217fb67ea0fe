package import TalkCore
package import TalkWire

/// The key: pressing, waiting, talking, letting go.
extension FloorMachine {
  /// The key of a seat went down.
  package mutating func press(seat: UInt16 = 0, floorClass: FloorClass, now: Instant) {
    fenceIfStalled(now: now)
    lapseIfDue(now: now)
    guard case .quiet = local else { return }
    guard presentCount > 0 else {
      emit(.unheard(.alone))
      return
    }
    guard hasQuorum else {
      emit(.unheard(.minority))
      return
    }
    // As keeper we would grant ourselves what every listener refuses.
    if let rights, !rights.may(floorClass) {
      emit(.denied(rights.maySpeak ? .classRefused : .listenOnly))
      return
    }
    nextRequest += 1
    var asking = Asking(
      request: nextRequest, seat: seat, floorClass: floorClass, pressed: now, nextSend: now)
    if isHolderOrKeeper, record?.talking == false, hearsUs(now: now) {
      startOwnBurst(asking, now: now)
      return
    }
    send(&asking, now: now)
    local = .asking(asking)
  }

  /// The key went up.
  package mutating func release(now: Instant) {
    switch local {
    case .quiet: break
    case .asking(let asking):
      local = .quiet
      cancel(asking, now: now)
    case .talking(var talking):
      guard talking.tailUntil == nil else { return }
      talking.tailUntil = now + timers.tailLimit
      local = .talking(talking)
      emit(.finishTransmit(talking.token))
    }
  }

  /// Takes our request back: who would grant it hears that nobody waits.
  mutating func cancel(_ asking: Asking, now: Instant) {
    if isHolderOrKeeper {
      if queue.remove(me, seat: asking.seat) { announceQueue() }
    } else {
      sendRepeated(
        .cancel(request: asking.request, requester: me, seat: asking.seat), to: .everyone,
        gaps: Array(timers.releaseRepeats.dropFirst()), token: nil, now: now)
    }
  }

  /// Nobody hears us, or too few: the press is over.
  mutating func giveUp(_ asking: Asking, _ reason: UnheardReason, now: Instant) {
    local = .quiet
    cancel(asking, now: now)
    emit(.unheard(reason))
  }

  /// The node sent the last frame of the burst's tail.
  package mutating func transmitFinished(lastFrame: UInt32, now: Instant) {
    self.lastFrame = lastFrame
    guard case .talking(let talking) = local, talking.tailUntil != nil else { return }
    endOwnBurst(talking, .released, now: now)
  }

  /// The node sent a voice frame of our burst.
  package mutating func transmitted(frame: UInt32, now: Instant) {
    lastFrame = frame
    guard case .talking(var talking) = local else { return }
    talking.lastVoice = now
    local = .talking(talking)
  }

  /// True when a member said in time that it hears us.
  func hearsUs(now: Instant) -> Bool {
    guard let lastHearsUs else { return false }
    return now - lastHearsUs <= timers.hearsUsMemory
  }

  /// Sends or repeats our request: first to the holder or keeper alone, then to everyone.
  mutating func send(_ asking: inout Asking, now: Instant) {
    let target = record?.token.id.holder
    let isReached = target.map { $0 != me && members[$0]?.present == true } == true
    let direct = isReached && (asking.sends == 0 || asking.queuedPlace != nil)
    var request = FloorRequest(
      request: asking.request, requester: me, seat: asking.seat, floorClass: asking.floorClass,
      spread: direct ? .direct : .everyone, counter: highestTurn,
      attempt: UInt16(truncatingIfNeeded: asking.sends))
    if asking.signature == .zero {
      asking.signature = sign(request.signedBytes(channel: channel))
    }
    request.signature = asking.signature
    if let target, request.spread == .direct {
      emit(.send(.request(request), to: .peer(target)))
    } else {
      emit(.send(.request(request), to: .everyone))
      if asking.claim == nil, asking.queuedPlace == nil {
        let until =
          overrides(asking, now: now)
          ? asking.pressed + timers.emergencyClaim : now + timers.claimWindow
        asking.claim = Claim(until: max(until, now))
      }
    }
    asking.sends += 1
    asking.nextSend = now + repeatGap(asking)
  }

  /// True when our class may take the floor from the talker of record without its grant.
  func overrides(_ asking: Asking, now: Instant) -> Bool {
    guard let record, isLive(record, now: now), asking.floorClass.preempts else { return false }
    return asking.floorClass > record.token.floorClass
  }

  private func repeatGap(_ asking: Asking) -> Duration {
    if asking.queuedPlace != nil { return timers.queuedRepeat }
    return asking.sends <= 3 ? timers.requestRepeat : timers.claimWindow
  }

  /// Does what is due for our key.
  mutating func wakeLocal(now: Instant) {
    switch local {
    case .quiet: break
    case .asking(var asking):
      if let until = asking.placeUntil, until <= now {
        // Nobody has confirmed our place for long: ask anew.
        asking.placeUntil = nil
        asking.queuedPlace = nil
        asking.sends = 1
        asking.nextSend = now
      }
      local = .asking(asking)
      if let claim = asking.claim, claim.until <= now { endClaimWindow(now: now) }
      guard case .asking(var asking) = local, asking.nextSend <= now else { return }
      send(&asking, now: now)
      local = .asking(asking)
    case .talking(var talking):
      if let until = talking.fencedUntil, until <= now {
        endOwnBurst(talking, .unheard, now: now)
        return
      }
      if now >= talking.limitStart + timers.talkLimit {
        endOwnBurst(talking, .limit, now: now)
        return
      }
      if !talking.warned, now >= talking.limitStart + timers.limitWarning {
        talking.warned = true
        local = .talking(talking)
        emit(.limitWarning)
      }
      if let tail = talking.tailUntil, tail <= now { endOwnBurst(talking, .released, now: now) }
    }
  }

  /// Starts our burst as keeper, holder after ourselves, or claimer, under a token of our own
  /// making.
  mutating func startOwnBurst(_ asking: Asking, now: Instant, above turn: UInt64 = 0) {
    guard let turn = newTurn(above: turn) else {
      var asking = asking
      asking.readyAbove = turn
      local = .asking(asking)
      return
    }
    let token = Token(
      id: TokenID(turn: turn, holder: me, seat: asking.seat), floorClass: asking.floorClass)
    var chain: [Grant] = []
    if let record, isHolderOrKeeper {
      chain = extend(record.chain, from: record.token, to: token, request: asking.request)
    }
    _ = queue.remove(me, seat: asking.seat)
    beginTalking(token, chain: chain, request: asking.request, now: now)
    emit(
      .send(
        .taken(token: token, talking: true, chain: chain, queue: queue.entries), to: .everyone))
  }

  /// Makes `token` ours and talking.
  mutating func beginTalking(_ token: Token, chain: [Grant], request: UInt64, now: Instant) {
    let previous = record?.token ?? token
    retireRecord(now: now, cut: false)
    exchange.begin(token.id, hangTime: timers.hangTime, now: now)
    ownTurn = max(ownTurn, token.id.turn)
    record = Record(
      token: token, talking: true, chain: chain, previous: previous, lastHeard: now, since: now,
      limitStart: now, confirmed: true)
    noteTurn(token.id.turn)
    var limitStart = now
    if let lastBurst, now - lastBurst.end <= timers.limitMemory {
      limitStart = now - (lastBurst.end - lastBurst.limitStart)
    }
    lastFrame = 0
    local = .talking(
      Talking(token: token, limitStart: limitStart, request: request, lastVoice: now))
    nextHeartbeat = now + timers.requestRepeat
    repeats.removeAll { if case .grant = $0.message { true } else { false } }
    emit(.startTransmit(token))
  }

  /// Ends our burst: the next in the queue gets the floor, or we keep it.
  mutating func endOwnBurst(_ talking: Talking, _ reason: StopReason, now: Instant) {
    guard record != nil, record!.token.id == talking.token.id else {
      preconditionFailure("talking under \(talking.token), record \(String(describing: record))")
    }
    lastBurst = (talking.limitStart, now)
    local = .quiet
    emit(.stopTransmit(talking.token, reason))
    talkEnds(record!, now: now)
    record!.talking = false
    over.insert(talking.token.id, at: now)
    // The next grant comes first: it says all that a release says, and whoever waits hears it
    // sooner.
    // A token that was lost has nothing to give.
    if reason == .lost || !grantNext(now: now) { keepIdle(now: now) }
    sendRepeated(
      .release(token: talking.token, lastFrame: lastFrame), to: .everyone,
      gaps: [timers.releaseRepeats[1], timers.releaseRepeats[2] - timers.releaseRepeats[1]],
      token: nil, now: now)
  }

  /// Stops our burst when nobody is left to hear it, or on a strict channel too few.
  mutating func stopIfNobodyHears(now: Instant) {
    guard case .talking(let talking) = local else { return }
    if presentCount == 0 {
      endOwnBurst(talking, .unheard, now: now)
    } else if !hasQuorum {
      endOwnBurst(talking, .minority, now: now)
    }
  }

  /// Hands an idle floor that we keep to another member, since we leave.
  package mutating func leave(now: Instant) {
    release(now: now)
    if case .talking(let talking) = local { endOwnBurst(talking, .released, now: now) }
    guard let record, isHolderOrKeeper, !record.talking else { return }
    for index in members.indices where members[at: index].present {
      let heir = members.entry(at: index).key
      guard let turn = newTurn(above: 0) else { return }
      let token = Token(
        id: TokenID(turn: turn, holder: heir, seat: 0), floorClass: .normal)
      let chain = extend(record.chain, from: record.token, to: token, request: 0)
      emit(.send(.grant(chain: chain, queue: []), to: .everyone))
      return
    }
  }
}
