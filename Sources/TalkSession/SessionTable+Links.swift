package import TalkCore
import TalkWire

extension SessionTable {
  /// The most sessions of a link that still receive beside its current one.
  private static var spareLimit: Int { 4 }

  /// Both sides have verified one another: the session becomes its link's, or makes a link. False
  /// when there are as many links as may be.
  mutating func promote(_ session: Session, now: Instant) -> Bool {
    guard let introduction = session.introduction else { return false }
    let key = PeerKey(channel: introduction.channel, peer: introduction.peer)
    var known = peers[key].flatMap { links[$0] }
    if let old = known, old.introduction.boot != introduction.boot {
      remove(old)
      emit(.down(old.id, .replaced))
      known = nil
    }
    guard known != nil || !links.isFull else {
      counts.flooded += 1
      drop(session)
      return false
    }
    session.stage = .established
    session.repeatAt = nil
    session.promotedAt = now
    session.lastReceived = now
    session.expires = session.keysAt + SessionLimits.rejectTime
    if session.role == .initiator {
      session.rekeyAt = now + jittered(SessionLimits.rekeyTime)
      session.rekeyCounter = UInt64(
        Double(SessionLimits.rekeyCounter) * (0.9 + 0.2 * generator.fraction()))
      schedule(session.rekeyAt)
    }
    schedule(session.expires)
    if let link = known {
      renew(link, with: session, now: now)
    } else {
      open(introduction, with: session, key: key, now: now)
    }
    endDials(of: session)
    return true
  }

  private mutating func open(
    _ introduction: Introduction, with session: Session, key: PeerKey, now: Instant
  ) {
    let link = Link(
      id: LinkID(number: nextLink), introduction: introduction, current: session, now: now)
    nextLink += 1
    session.link = link.id
    links[link.id] = link
    peers[key] = link.id
    schedule(now + silenceLimit)
    emit(.up(link.id, introduction))
  }

  /// Which of two sessions is sent on: the newer, but of two crossed ones that of the smaller hash,
  /// which is the same on both sides.
  private mutating func renew(_ link: Link, with session: Session, now: Instant) {
    let old = link.current
    session.link = link.id
    link.lastReceived = now
    let crossed =
      old.role != session.role && session.created <= old.promotedAt + SessionLimits.crossedMargin
    if crossed, old.handshakeHash.lexicographicallyPrecedes(session.handshakeHash) {
      makeSpare(session, of: link, crossed: true, now: now)
      return
    }
    link.current = session
    makeSpare(old, of: link, crossed: crossed, now: now)
    move(link, to: session.endpoint)
  }

  private mutating func makeSpare(_ session: Session, of link: Link, crossed: Bool, now: Instant) {
    session.isCrossedSpare = crossed
    session.rekeyAt = .distantFuture
    session.rekeyCounter = .max
    let time = crossed ? SessionLimits.crossedTime : SessionLimits.drainTime
    session.expires = min(session.expires, now + time)
    schedule(session.expires)
    link.spares.append(session)
    if link.spares.count > Self.spareLimit { drop(link.spares.removeFirst()) }
  }

  private mutating func endDials(of session: Session) {
    if let key = dialKey(of: session) { endDial(key) }
    for key in Array(dials.keys) {
      guard let dial = dials[key] else { continue }
      let isSame = key.channel == session.channel && key.endpoint == session.endpoint
      guard isSame || dial.link == session.link else { continue }
      // Attempts that were sent may still complete: both of two crossed handshakes do.
      dials[key] = nil
    }
  }

  /// The spare of two crossed sessions has had its time: keep the one that the peer speaks on.
  mutating func settle(_ spare: Session, of link: Link) {
    link.spares.removeAll { $0 === spare }
    guard spare.isCrossedSpare, spare.lastReceived > link.current.lastReceived else {
      drop(spare)
      return
    }
    drop(link.current)
    spare.isCrossedSpare = false
    spare.expires = spare.keysAt + SessionLimits.rejectTime
    if spare.role == .initiator { spare.rekeyAt = spare.promotedAt + SessionLimits.rekeyTime }
    schedule(min(spare.expires, spare.rekeyAt))
    link.current = spare
  }

  /// Notes a new address of a peer.
  mutating func move(_ link: Link, to endpoint: Endpoint) {
    guard link.endpoint != endpoint else { return }
    link.endpoint = endpoint
    emit(.moved(link.id, endpoint))
  }

  /// Forgets a link with all its sessions.
  mutating func remove(_ link: Link) {
    drop(link.current)
    for spare in link.spares { drop(spare) }
    links[link.id] = nil
    peers[PeerKey(channel: link.introduction.channel, peer: link.introduction.peer)] = nil
  }

  /// Says BYE to a peer and forgets it; `body` is the BYE's. No event follows.
  package mutating func close(_ id: LinkID, bye body: RawSpan, now: Instant, slab: Slab) {
    guard let link = links[id] else { return }
    if let sealed = seal(
      kind: .bye, flags: 0, body: body, padded: true, to: id, slab: slab, now: now)
    {
      queue(sealed)
    }
    remove(link)
  }

  /// Forgets every session at once, without a word: after the machine slept. Channels and what we
  /// prove of ourselves stay.
  package mutating func dropAll() {
    sessions.removeAll()
    links.removeAll()
    peers.removeAll()
    dials.removeAll()
    deadline = nil
  }
}
