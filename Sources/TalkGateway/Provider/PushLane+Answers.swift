package import TalkCore

/// What became of requests: the answer table of gateway.md.
extension PushLane {
  /// Apple answered.
  package mutating func answered(
    _ ticket: LaneTicket, _ answer: ProviderAnswer, at now: Instant, unix: UInt64,
    keeper: inout ProviderTokenKeeper
  ) {
    guard push(ticket) != nil, let connection = slots[ticket.slot].connection else { return }
    let index = ticket.slot
    let kind = AnswerClass(status: answer.status, reason: answer.reason)
    trust(connection, after: kind)
    if kind == .server { breaker.failed(at: now) } else { breaker.succeeded() }
    switch kind {
    case .delivered:
      stopped = nil
      devices.delivered(slots[index].push.token)
      finish(index, .delivered)
    case .ourFault:
      note("a push was refused as malformed: \(answer.status) \(answer.reason)")
      refuse(index, answer, .ourFault)
    case .badToken:
      let other = hasOther && !slots[index].push.triedOther
      refuse(index, answer, other ? .otherEnvironment : .quarantine)
    case .wrongTopic: refuse(index, answer, .quarantine)
    // Without a time there is no telling whether the token was registered since.
    case .gone: refuse(index, answer, answer.timestamp.map { .dropToken(at: $0) } ?? .quarantine)
    case .deviceRate:
      let wait = devices.refused(
        slots[index].push.token, retryAfter: retryAfter(answer), at: now)
      refuse(index, answer, .backOff(wait))
    case .stop: halt(index, answer, skew: skew(answer, unix), at: now)
    case .tokenExpired:
      let verdict = keeper.expired(issuedAt: slots[index].issuedAt, at: now)
      retryToken(index, answer, verdict, unix: unix, at: now)
    case .tokenRate:
      let verdict = keeper.tooManyUpdates(issuedAt: slots[index].issuedAt, at: now)
      retryToken(index, answer, verdict, unix: unix, at: now)
    case .server: serverFailed(index, answer, on: connection, at: now)
    }
    ended(on: connection)
  }

  private mutating func trust(_ connection: Int, after kind: AnswerClass) {
    switch kind {
    case .stop, .tokenExpired, .tokenRate, .server: return
    case .delivered, .ourFault, .badToken, .wrongTopic, .gone, .deviceRate:
      guard let place = connections.firstIndex(where: { $0.id == connection }) else { return }
      connections[place].trusted = true
      dialWorked()
    }
  }

  private mutating func refuse(_ index: Int, _ answer: ProviderAnswer, _ advice: PushAdvice) {
    let reason = answer.reason.isEmpty ? "status \(answer.status)" : answer.reason
    finish(index, .refused(reason: reason, advice: advice))
  }

  private func retryAfter(_ answer: ProviderAnswer) -> Duration? {
    answer.retryAfter.map { min(.seconds($0), ProviderLimits.retryAfter) }
  }

  /// How far this machine's clock is ahead of Apple's, in seconds.
  private func skew(_ answer: ProviderAnswer, _ unix: UInt64) -> Int64? {
    answer.date.map { Int64(clamping: unix) - $0 }
  }

  private mutating func retryToken(
    _ index: Int, _ answer: ProviderAnswer, _ verdict: ProviderTokenKeeper.Verdict, unix: UInt64,
    at now: Instant
  ) {
    switch verdict {
    case .retry where !slots[index].tokenRetried:
      slots[index].tokenRetried = true
      sendAgain(index, because: answer.reason, at: now)
    case .clock: halt(index, answer, skew: skew(answer, unix), at: now)
    case .retry, .wait:
      refuse(index, answer, .backOff(retryAfter(answer) ?? ProviderLimits.breaker.last))
    }
  }

  private mutating func serverFailed(
    _ index: Int, _ answer: ProviderAnswer, on connection: Int, at now: Instant
  ) {
    slots[index].serverFaults += 1
    let young = now < slots[index].push.began + ProviderLimits.youngBurst
    if young, slots[index].serverFaults == 1, breaker.remaining(at: now) == nil {
      slots[index].avoid = connection
      sendAgain(index, because: "\(answer.status) \(answer.reason)", at: now)
    } else {
      let wait = breaker.remaining(at: now) ?? ProviderLimits.breaker.first
      refuse(index, answer, .backOff(max(wait, retryAfter(answer) ?? .zero)))
    }
  }

  // MARK: stopping

  /// Stops the lane, and reports all that waits.
  private mutating func halt(_ index: Int, _ answer: ProviderAnswer, skew: Int64?, at now: Instant)
  {
    let reason = answer.reason.isEmpty ? "status \(answer.status)" : answer.reason
    let stop = stop(reason: reason, skew: skew, at: now)
    finish(index, stop.outcome)
  }

  @discardableResult
  mutating func stop(reason: String, skew: Int64?, at now: Instant) -> LaneStop {
    halt(text: Self.stopText(reason: reason, skew: skew), reason: reason, at: now)
  }

  @discardableResult
  mutating func halt(text: String, reason: String, at now: Instant) -> LaneStop {
    let stop = LaneStop(text: text, reason: reason, probeAt: now + ProviderLimits.probe)
    stopped = stop
    note(stop.text)
    for waiting in again + queue[queueHead...] { finish(waiting, stop.outcome) }
    (again, queue, queueHead) = ([], [], 0)
    return stop
  }

  private static func stopText(reason: String, skew: Int64?) -> String {
    let wrong = skew.flatMap { abs($0) > ProviderLimits.skew ? $0 : nil }
    let clock = wrong.map {
      "this machine's clock is \(abs($0)) s \($0 > 0 ? "ahead of" : "behind") Apple's"
    }
    if reason == "ExpiredProviderToken" {
      return "Apple calls a new token expired: check the clock"
        + (clock.map { "; \($0)" } ?? "")
    }
    return "Apple refuses us (\(reason)): "
      + (clock.map { "check the clock: \($0)" } ?? AnswerClass.cure(of: reason))
  }

  // MARK: requests without an answer

  /// The server did not process the request (REFUSED_STREAM, above the last id of a GOAWAY, or it
  /// could not be put on the wire): it is sent again, and that does not count as a sending.
  package mutating func unprocessed(_ ticket: LaneTicket, at now: Instant) {
    guard push(ticket) != nil, let connection = slots[ticket.slot].connection else { return }
    breaker.abandoned()
    slots[ticket.slot].unprocessed += 1
    if slots[ticket.slot].unprocessed <= ProviderLimits.unprocessed {
      slots[ticket.slot].sends -= 1
    }
    sendAgain(ticket.slot, because: "the server took no requests", at: now)
    ended(on: connection)
  }

  /// The server broke the stream off, with an HTTP/2 error code: it may have processed the request,
  /// or not.
  package mutating func broken(_ ticket: LaneTicket, code: UInt32, at now: Instant) {
    guard push(ticket) != nil, let connection = slots[ticket.slot].connection else { return }
    breaker.failed(at: now)
    slots[ticket.slot].avoid = connection
    sendAgain(ticket.slot, because: "the server broke off with HTTP/2 error \(code)", at: now)
    ended(on: connection)
  }

  /// How the lane is, for status and doctor.
  package func condition(at now: Instant) -> LaneCondition {
    if let stopped { return .stopped(stopped.text) }
    if let wait = breaker.remaining(at: now) { return .backingOff(wait) }
    if connections.contains(where: { $0.state == .open }) { return .up }
    return .down(dialObstacle.isEmpty ? "not connected yet" : dialObstacle)
  }
}

/// How a lane is.
package enum LaneCondition: Hashable, Sendable {
  /// A connection is open.
  case up
  /// None is; the text says what was in the way the last time.
  case down(String)
  /// The server fails; nothing is sent for so long.
  case backingOff(Duration)
  /// Apple refuses us; the text says what to mend.
  case stopped(String)
}
