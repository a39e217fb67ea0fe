package import TalkCore
package import TalkWire

/// What becomes of sessions, and what the table tells others of them.
extension CandidateTable {
  /// A handshake of somebody else's came from `endpoint`: ours waits for its outcome.
  package mutating func inbound(
    from endpoint: Endpoint, of channel: ChannelID, now: Instant
  ) {
    defer { updateDeadline() }
    let key = CandidateKey(channel: channel, endpoint: endpoint)
    guard let index = candidates.index(of: key) else { return }
    candidates[at: index].nextDial = max(
      candidates[at: index].nextDial, now + Self.alternativeDelay)
  }

  /// `peer` proved itself at `endpoint` by AUTH, or authenticated traffic moved there: the session
  /// is up and works. The endpoint is noted if it was not.
  package mutating func authenticated(
    _ peer: PeerID, at endpoint: Endpoint, of channel: ChannelID, now: Instant
  ) {
    defer { updateDeadline() }
    let key = CandidateKey(channel: channel, endpoint: endpoint)
    if candidates.index(of: key) == nil {
      if candidates.isFull { dropOldestPath() }
      // Proved, so neither the limit of the unproved nor their checks concern it.
      insertProved(key, peer: peer, now: now)
    }
    guard let index = candidates.index(of: key) else { return }
    setIdentity(peer, at: index)
    candidates[at: index].claimed = nil
    candidates[at: index].dials = 0
    candidates[at: index].lastSeen = now
    let boot = candidates[at: index].bootInstance
    sessions[MemberKey(channel: channel, peer: peer)] = SessionPath(
      endpoint: endpoint, bootInstance: boot, works: true)
    if let boot { claimAlternatives(of: boot, for: peer, in: channel) }
    dropSurplusPaths(of: peer, in: channel, keeping: endpoint)
  }

  /// Presence says whether the session's present path still brings anything. While it does not,
  /// all known endpoints of the peer are tried, the nearest first.
  package mutating func setPath(
    of peer: PeerID, in channel: ChannelID, works: Bool, now: Instant
  ) {
    defer { updateDeadline() }
    let key = MemberKey(channel: channel, peer: peer)
    guard let index = sessions.index(of: key), sessions[at: index].works != works else { return }
    sessions[at: index].works = works
    if !works { retryAll(of: peer, in: channel, now: now) }
  }

  /// The session is gone. After a BYE the peer is left in peace until it shows itself again or a
  /// retry interval has passed; otherwise it is tried at once.
  package mutating func sessionEnded(
    with peer: PeerID, in channel: ChannelID, leaving: Bool, now: Instant
  ) {
    defer { updateDeadline() }
    sessions[MemberKey(channel: channel, peer: peer)] = nil
    retryAll(of: peer, in: channel, now: leaving ? now + Self.staticInterval : now)
  }

  /// Where the members of a channel proved themselves, for the store, in the order of endpoints.
  package func knownPaths(of channel: ChannelID) -> [KnownPath] {
    candidates.indices.compactMap { index in
      let entry = candidates.entry(at: index)
      guard entry.key.channel == channel, let peer = entry.value.identity else { return nil }
      return KnownPath(peer: peer, endpoint: entry.key.endpoint, provedAt: entry.value.lastSeen)
    }
  }

  /// The next up to four members to tell of in a HELLO; every member gets its turn. `lastHeard` is
  /// presence's, nil for one that is away. Link-local and loopback addresses are never told.
  package mutating func exchange(
    of channel: ChannelID, now: Instant, lastHeard: (PeerID) -> Instant?
  ) -> [PeerExchangeEntry] {
    var entries: [PeerExchangeEntry] = []
    for index in sessions.indices {
      let (key, session) = sessions.entry(at: index)
      guard key.channel == channel, session.works, isWorthTelling(session.endpoint),
        let heard = lastHeard(key.peer)
      else { continue }
      let age = max(0, (now - heard).wholeNanoseconds / 1_000_000_000)
      entries.append(
        PeerExchangeEntry(
          peer: key.peer, endpoint: session.endpoint, age: UInt16(clamping: age)))
    }
    let start = exchangeCursor.flatMap { last in entries.firstIndex { $0.peer > last } } ?? 0
    let told = Array((entries[start...] + entries[..<start]).prefix(HelloBody.entryLimit))
    exchangeCursor = told.last?.peer
    return told
  }

  /// A HELLO named another boot instance than the one we knew here: the peer is new or restarted,
  /// so a session with its earlier life is no longer taken for working.
  mutating func learn(_ theirs: UInt64, at index: Int, now: Instant) {
    let channel = candidates.entry(at: index).key.channel
    candidates[at: index].bootInstance = theirs
    candidates[at: index].dials = 0
    candidates[at: index].nextDial = now + wait(for: candidates[at: index])
    var known: PeerID?
    for other in candidates.indices where other != index {
      let entry = candidates.entry(at: other)
      guard entry.key.channel == channel, entry.value.bootInstance == theirs else { continue }
      known = known ?? entry.value.identity ?? entry.value.claimed
      if let last = entry.value.lastDial, now - last < Self.alternativeDelay {
        candidates[at: index].nextDial = max(
          candidates[at: index].nextDial, last + Self.alternativeDelay)
      }
    }
    if candidates[at: index].identity == nil { candidates[at: index].claimed = known }
    guard let peer = candidates[at: index].identity,
      let session = sessions.index(of: MemberKey(channel: channel, peer: peer)),
      sessions[at: session].endpoint == candidates.entry(at: index).key.endpoint
    else { return }
    // A session that an inbound handshake made may be older than the first HELLO heard.
    if let before = sessions[at: session].bootInstance, before != theirs {
      sessions[at: session].works = false
    }
    sessions[at: session].bootInstance = theirs
  }

  private mutating func retryAll(of peer: PeerID, in channel: ChannelID, now: Instant) {
    for index in candidates.indices {
      let entry = candidates.entry(at: index)
      guard entry.key.channel == channel, entry.value.identity ?? entry.value.claimed == peer
      else { continue }
      candidates[at: index].dials = 0
      candidates[at: index].nextDial = now + wait(for: entry.value)
    }
  }

  private mutating func claimAlternatives(
    of boot: UInt64, for peer: PeerID, in channel: ChannelID
  ) {
    for index in candidates.indices {
      let entry = candidates.entry(at: index)
      guard entry.key.channel == channel, entry.value.bootInstance == boot,
        entry.value.identity == nil
      else { continue }
      candidates[at: index].claimed = peer
    }
  }

  private mutating func dropSurplusPaths(
    of peer: PeerID, in channel: ChannelID, keeping current: Endpoint
  ) {
    let paths = candidates.indices.map(candidates.entry(at:)).filter {
      $0.key.channel == channel && $0.value.identity == peer
    }
    guard paths.count > Self.pathsPerPeer else { return }
    let oldest = paths.filter { $0.key.endpoint != current && !$0.value.isStatic }
      .min { $0.value.lastSeen < $1.value.lastSeen }
    if let oldest { remove(oldest.key) }
  }

  /// Makes room in a full table: the endpoint goes that was proved longest ago and has no session.
  private mutating func dropOldestPath() {
    let idle = candidates.indices.map(candidates.entry(at:)).filter { entry in
      guard let peer = entry.value.identity, !entry.value.isStatic else { return false }
      return sessions[MemberKey(channel: entry.key.channel, peer: peer)]?.endpoint
        != entry.key.endpoint
    }
    if let oldest = idle.min(by: { $0.value.lastSeen < $1.value.lastSeen }) { remove(oldest.key) }
  }

  private mutating func insertProved(_ key: CandidateKey, peer: PeerID, now: Instant) {
    candidates[key] = Candidate(
      sources: 0, rank: rank(key.endpoint), identity: peer, lastSeen: now, nextDial: now)
  }

  private func isWorthTelling(_ endpoint: Endpoint) -> Bool {
    let isLoopback =
      endpoint.ipv4.map { $0 >> 24 == 127 } ?? (endpoint.address == Bytes16(high: 0, low: 1))
    return !endpoint.isLinkLocal && !isLoopback
  }
}
