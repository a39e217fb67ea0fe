package import TalkCore

/// What happens to connections: up, lost, told to go, silent.
extension PushLane {
  /// True when a connection should be there and none is coming.
  var wantsConnection: Bool {
    guard connections.count < ProviderLimits.connections else { return false }
    let active = connections.filter { $0.state != .draining }
    if active.isEmpty { return true }
    guard active.count < ProviderLimits.active else { return false }
    // A push that must not go where it was needs a second one.
    return active.count == 1
      && again.contains { slots[$0].avoid != nil && slots[$0].avoid == active.first?.id }
  }

  mutating func dialIfNeeded(at now: Instant) {
    guard wantsConnection, now >= redialAt else { return }
    let connection = LaneConnection(id: nextConnection, at: now)
    nextConnection += 1
    connections.append(connection)
    effects.append(.open(connection: connection.id))
  }

  private func place(of connection: Int) -> Int? {
    connections.firstIndex { $0.id == connection }
  }

  /// The connection is up: TLS and ALPN agreed.
  package mutating func opened(_ connection: Int, at now: Instant) {
    guard let place = place(of: connection), case .dialing = connections[place].state else {
      return
    }
    connections[place].state = .open
    (connections[place].heard, connections[place].used) = (now, now)
    counters.opened += 1
  }

  /// The server's SETTINGS allow so many streams.
  package mutating func allowed(_ streams: Int, on connection: Int) {
    guard let place = place(of: connection) else { return }
    connections[place].allowed = streams
  }

  /// Bytes came.
  package mutating func heard(on connection: Int, at now: Instant) {
    guard let place = place(of: connection) else { return }
    (connections[place].heard, connections[place].used) = (now, now)
  }

  /// A PING was answered.
  package mutating func pong(on connection: Int, at now: Instant) {
    guard let place = place(of: connection) else { return }
    if connections[place].pinged != nil { counters.pongs += 1 }
    connections[place].pinged = nil
    dialWorked()
  }

  /// The line works: the next dial needs no wait.
  mutating func dialWorked() {
    redialWait = .zero
    dialObstacle = ""
  }

  /// A connection ended that never carried an answer: the next dial waits, ever longer.
  private mutating func dialFailed(_ reason: String, at now: Instant) {
    redialAt = now + redialWait
    redialWait = min(max(redialWait * 2, ProviderLimits.redial.first), ProviderLimits.redial.last)
    dialObstacle = reason
    note(reason)
  }

  /// The connection is gone, or never came up; `reason` is for people.
  package mutating func lost(_ connection: Int, reason: String, at now: Instant) {
    guard let place = place(of: connection) else { return }
    let gone = connections.remove(at: place)
    breaker.abandoned()
    if !gone.trusted { dialFailed(reason, at: now) }
    for ticket in gone.unanswered where push(ticket) != nil {
      sendAgain(ticket.slot, because: reason, at: now)
    }
  }

  /// GOAWAY: no request more on this connection. The edge reports every request that the server did
  /// not process by `unprocessed`; the others are waited for.
  package mutating func goaway(_ connection: Int, reason: String, at now: Instant) {
    counters.goaways += 1
    guard let place = place(of: connection) else { return }
    let before = connections[place].state
    connections[place].state = .draining
    if before != .draining, !connections[place].trusted {
      dialFailed("the server said GOAWAY \(reason)", at: now)
    }
    if reason.hasPrefix("BadCertificate") || reason == "Forbidden" {
      stop(reason: reason, skew: nil, at: now)
    }
    closeIfDrained(connection)
  }

  /// Closes a connection that takes no requests any more and owes no answer.
  mutating func closeIfDrained(_ connection: Int) {
    guard let place = place(of: connection) else { return }
    guard connections[place].state == .draining, connections[place].inFlight == 0 else { return }
    connections.remove(at: place)
    effects.append(.close(connection: connection))
  }

  /// One request of the connection is over.
  mutating func ended(on connection: Int) {
    guard let place = place(of: connection) else { return }
    connections[place].ended()
    let slots = slots
    connections[place].trim { slots[$0.slot].generation == $0.generation }
    closeIfDrained(connection)
  }

  /// Handles the timers of one connection.
  mutating func checkTime(of connection: Int, at now: Instant) {
    guard let place = place(of: connection) else { return }
    let slots = slots
    connections[place].trim { slots[$0.slot].generation == $0.generation }
    let line = connections[place]
    if case .dialing(let until) = line.state {
      if now >= until { giveUp(connection, "no connection within 6 s", at: now) }
      return
    }
    if let pinged = line.pinged, now >= pinged + ProviderLimits.pong {
      return giveUp(connection, "a PING was not answered within 5 s", at: now)
    }
    if let oldest = line.oldest, now >= oldest + ProviderLimits.answer {
      let text = "a request was not answered within 3 s"
      // Silent altogether: dead. Else it swallows requests: only those overdue go elsewhere.
      if line.heard <= oldest { return giveUp(connection, text, at: now) }
      return retire(connection, overdueSince: now - ProviderLimits.answer, text, at: now)
    }
    if line.pinged == nil, now >= line.used + ProviderLimits.idle {
      connections[place].pinged = now
      connections[place].used = now
      counters.pings += 1
      effects.append(.ping(connection: connection))
    }
  }

  private mutating func giveUp(_ connection: Int, _ reason: String, at now: Instant) {
    counters.dead += 1
    effects.append(.close(connection: connection))
    lost(connection, reason: reason, at: now)
  }

  private mutating func retire(
    _ connection: Int, overdueSince time: Instant, _ reason: String, at now: Instant
  ) {
    guard let place = place(of: connection) else { return }
    if connections[place].state == .open { counters.dead += 1 }
    connections[place].state = .draining
    for ticket in connections[place].unanswered(sentBy: time) where push(ticket) != nil {
      effects.append(.cancel(connection: connection, ticket: ticket))
      slots[ticket.slot].avoid = connection
      sendAgain(ticket.slot, because: reason, at: now)
      ended(on: connection)
    }
  }
}
