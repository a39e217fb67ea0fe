package import TalkCore
import TalkWire

extension SessionTable {
  /// Does what is due; call it at `deadline`, which it moves. Calling it early does no harm.
  package mutating func wake(now: Instant, entropy: inout EntropyPool, slab: Slab) {
    guard let due = deadline, due <= now else { return }
    deadline = nil
    wakeSessions(now: now, slab: slab)
    wakeLinks(now: now)
    wakeDials(now: now, entropy: &entropy, slab: slab)
  }

  /// True when the node must fetch events before more are made; the rest is done right after.
  private mutating func mustPause(now: Instant) -> Bool {
    guard events.count > events.limit - 8 else { return false }
    schedule(now)
    return true
  }

  private mutating func wakeSessions(now: Instant, slab: Slab) {
    for session in Array(sessions.values) {
      if mustPause(now: now) { return }
      // An earlier one of this round may have taken this one along.
      guard sessions[session.localIndex] === session else { continue }
      if session.expires <= now {
        expire(session)
        continue
      }
      if let time = session.repeatAt, time <= now {
        repeatIntroduction(session, now: now, slab: slab)
      }
      schedule(min(session.expires, session.repeatAt ?? session.expires))
    }
  }

  private mutating func expire(_ session: Session) {
    guard let id = session.link, let link = links[id] else {
      drop(session)
      return
    }
    guard link.current === session else {
      settle(session, of: link)
      return
    }
    remove(link)
    emit(.down(id, .rekeyFailed))
  }

  private mutating func wakeLinks(now: Instant) {
    for link in Array(links.values) {
      if mustPause(now: now) { return }
      let silent = link.lastReceived + silenceLimit
      if silent <= now {
        remove(link)
        emit(.down(link.id, .timeout))
        continue
      }
      schedule(silent)
      rekeyIfDue(link, now: now)
    }
  }

  private mutating func rekeyIfDue(_ link: Link, now: Instant) {
    let session = link.current
    guard session.rekeyAt != .distantFuture else { return }
    var due = session.rekeyAt
    if channels[link.introduction.channel]?.isInBurst == true {
      due = max(due, session.keysAt + SessionLimits.rekeyTimeInBurst)
    }
    guard due <= now else {
      schedule(due)
      return
    }
    guard !dials.values.contains(where: { $0.link == link.id }) else { return }
    // If this dial comes to nothing, the next one follows after a pause.
    session.rekeyAt = now + SessionLimits.dialTime + SessionLimits.rekeyPause
    schedule(session.rekeyAt)
    dialForKeys(link, now: now)
  }
}
