package import TalkCore

extension LegTable {
  /// When `wake` wants to be called; nil when nothing is due. A phone that sleeps costs nothing: it
  /// has no leg.
  package var deadline: Instant? {
    var earliest: Instant?
    for attach in pending.values { earliest = .earliest(earliest, attach.expires) }
    for leg in legs.values { earliest = .earliest(earliest, deadline(of: leg)) }
    return earliest
  }

  private func deadline(of leg: Leg) -> Instant {
    var due = min(leg.lastReceived + LegLimits.silence, leg.lastSent + LegLimits.keepalive)
    if let confirmBy = leg.confirmBy { due = min(due, confirmBy) }
    if let path = leg.path { due = min(due, path.due) }
    if let floor = leg.floor {
      due = min(
        due,
        floor.toldSince.map { $0 + LegLimits.toldWait }
          ?? floor.lastHeard + LegLimits.floorSilence)
      if let tell = floor.tell { due = min(due, tell.due) }
    }
    if let stream = leg.stream, leg.confirmBy == nil, !leg.mustBeQuiet {
      if let note = stream.note, !note.isExhausted { due = min(due, note.due) }
      if let end = stream.end, !stream.isDone { due = min(due, end.due) }
      if let endsAt = leg.endsAt { due = min(due, endsAt) }
      if leg.waitsForPace { due = min(due, leg.nextFrames) }
    }
    return due
  }

  /// Does what is due; calling it early does no harm.
  package mutating func wake(bursts: BurstBuffer, now: Instant, slab: Slab) {
    pending.removeAll { _, attach in attach.expires <= now }
    for leg in Array(legs.values) where deadline(of: leg) <= now {
      if leg.confirmBy.map({ $0 <= now }) ?? false || leg.lastReceived + LegLimits.silence <= now {
        drop(leg, .silent)
        continue
      }
      challenge(leg, now: now, slab: slab)
      wakeFloor(leg, slab: slab, now: now)
      pump(leg, bursts: bursts, now: now, slab: slab)
      if leg.lastSent + LegLimits.keepalive <= now {
        if !send(.keepalive, over: leg, slab: slab, now: now) { leg.lastSent = now }
      }
    }
  }
}
