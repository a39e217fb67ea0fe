package import TalkCore
package import TalkWire

/// Whom to try to reach, where, and when: every source of candidates in one table, by endpoint
/// until AUTH and by identity after it (mesh.md, "Sources of candidates").
///
/// Drive it so: hand it what discovery says (`add`, `heardHello`, `addExchange`, `withdraw`) and
/// what becomes of sessions (`inbound`, `authenticated`, `setPath`, `sessionEnded`); at `deadline`
/// and after each of those take `nextDial` until it is nil, and start a handshake for each. A dial
/// plans the next one by itself, so a handshake that fails need not be reported.
///
/// The side with the smaller boot instance starts; the other waits 0.3 s. Where the other's is not
/// known yet both start, and the sessions settle it.
package struct CandidateTable: Sendable {
  /// The most endpoints where nobody has proved itself.
  package static let unverifiedLimit = 256
  /// The most endpoints in all.
  package static let limit = 4_096
  /// The most endpoints that are kept of one identity in one channel.
  package static let pathsPerPeer = 4
  /// How long the side with the larger boot instance waits for the other to start.
  package static let courtesy: Duration = .milliseconds(300)
  /// A static peer is tried again after this, ± a fifth.
  package static let staticInterval: Duration = .seconds(30)
  /// Others are tried again after this, doubling up to `slowestRetry`, ± a fifth.
  package static let firstRetry: Duration = .seconds(5)
  /// The longest time between two tries of one endpoint.
  package static let slowestRetry: Duration = .seconds(300)
  /// Two dials are at least this far apart, so that a full room is not greeted in one instant.
  package static let dialGap: Duration = .milliseconds(5)
  /// After a dial to one endpoint of a peer its other endpoints wait this long.
  package static let alternativeDelay: Duration = .seconds(1)
  /// Hearsay older than this is not listened to.
  package static let hearsayAge: UInt16 = 60
  /// Hearsay is forgotten after this many vain dials.
  package static let hearsayDials = 4
  /// The most endpoints that are remembered as our own, beside our links' addresses.
  package static let selfLimit = 16

  let own: PeerID
  let bootInstance: UInt64
  var candidates = OrderedTable<CandidateKey, Candidate>(limit: limit)
  var sessions = OrderedTable<MemberKey, SessionPath>(limit: limit)
  var exchangeCursor: PeerID?
  private var unverified = 0
  private var links: [LinkAddress] = []
  private var ownPort: UInt16 = 0
  private var selves: [Endpoint] = []
  private var gate = Instant.zero
  private var jitter: SeededGenerator

  /// When to call `nextDial`; nil when there is nobody to try.
  package private(set) var deadline: Instant?

  /// An empty table of the node `own`, which started as `bootInstance`; `seed` spreads retries.
  package init(own: PeerID, bootInstance: UInt64, seed: UInt64) {
    self.own = own
    self.bootInstance = bootInstance
    jitter = SeededGenerator(seed: seed)
  }

  /// How many endpoints there are where nobody has proved itself.
  package var unverifiedCount: Int { unverified }

  // MARK: Discovery

  /// Notes an endpoint that static configuration, mDNS or the store names.
  package mutating func add(
    _ endpoint: Endpoint, of channel: ChannelID, from source: CandidateSource, now: Instant
  ) throws(CandidateRefusal) {
    defer { updateDeadline() }
    _ = try note(endpoint, of: channel, from: source, now: now)
  }

  /// Notes the sender of an accepted HELLO: `endpoint` is the datagram's source address with the
  /// port that the HELLO names.
  package mutating func heardHello(
    from endpoint: Endpoint, of channel: ChannelID, bootInstance theirs: UInt64, now: Instant
  ) throws(CandidateRefusal) {
    defer { updateDeadline() }
    guard theirs != bootInstance else { throw .ourselves }
    let key = try note(endpoint, of: channel, from: .hello, now: now)
    guard let index = candidates.index(of: key) else { return }
    if candidates[at: index].bootInstance != theirs { learn(theirs, at: index, now: now) }
  }

  /// Notes what a HELLO says of others. Old, link-local and own entries are passed over.
  package mutating func addExchange(
    _ entries: [PeerExchangeEntry], of channel: ChannelID, now: Instant
  ) {
    defer { updateDeadline() }
    for entry in entries {
      guard entry.age <= Self.hearsayAge, !entry.endpoint.isLinkLocal, entry.peer != own,
        let key = try? note(entry.endpoint, of: channel, from: .exchange, now: now),
        let index = candidates.index(of: key)
      else { continue }
      if candidates[at: index].identity == nil { candidates[at: index].claimed = entry.peer }
    }
  }

  /// A source takes an endpoint back (mDNS "remove"); what others say of it stays.
  package mutating func withdraw(
    _ endpoint: Endpoint, of channel: ChannelID, from source: CandidateSource
  ) {
    defer { updateDeadline() }
    let key = CandidateKey(channel: channel, endpoint: endpoint)
    guard let index = candidates.index(of: key) else { return }
    candidates[at: index].sources &= ~(1 << source.rawValue)
    if candidates[at: index].sources == 0, candidates[at: index].identity == nil { remove(key) }
  }

  /// Our links changed, or are known for the first time: ranks anew, and tries everybody again
  /// whom no working session reaches.
  package mutating func setLinks(_ links: [LinkAddress], ownPort: UInt16, now: Instant) {
    defer { updateDeadline() }
    self.links = links
    self.ownPort = ownPort
    for key in candidates.keys.filter({ isOurselves($0.endpoint) }) { remove(key) }
    for index in candidates.indices {
      candidates[at: index].rank = rank(candidates.entry(at: index).key.endpoint)
      candidates[at: index].dials = 0
      candidates[at: index].nextDial = now + wait(for: candidates[at: index])
    }
  }

  /// A dial reached this node itself: `endpoint` is never tried again in this run.
  package mutating func reachedOurselves(at endpoint: Endpoint) {
    defer { updateDeadline() }
    guard !isOurselves(endpoint) else { return }
    if selves.count >= Self.selfLimit { selves.removeFirst() }
    selves.append(endpoint)
    for key in candidates.keys.filter({ $0.endpoint == endpoint }) { remove(key) }
  }

  /// We left the channel: forgets all of it.
  package mutating func removeChannel(_ channel: ChannelID) {
    defer { updateDeadline() }
    for key in candidates.keys.filter({ $0.channel == channel }) { remove(key) }
    sessions.removeAll { key, _ in key.channel == channel }
  }

  // MARK: Dials

  /// The endpoint to start a handshake with now; nil when none is due. Take them until it is nil.
  package mutating func nextDial(now: Instant) -> Dial? {
    guard let due = deadline, due <= now else { return nil }
    defer { updateDeadline() }
    var best: Int?
    for index in candidates.indices {
      guard candidates[at: index].nextDial <= now, isWanted(index) else { continue }
      guard let other = best else {
        best = index
        continue
      }
      if order(index) < order(other) { best = index }
    }
    guard let best else { return nil }
    return dial(best, now: now)
  }

  /// Whether `endpoint` is in the subnet of one of our links, containers' apart.
  package func isOnLink(_ endpoint: Endpoint) -> Bool { rank(endpoint) == .onLink }

  private func order(_ index: Int) -> (CandidateRank, CandidateSource) {
    (candidates[at: index].rank, candidates[at: index].source)
  }

  private mutating func dial(_ index: Int, now: Instant) -> Dial {
    let key = candidates.entry(at: index).key
    gate = now + Self.dialGap
    candidates[at: index].dials += 1
    candidates[at: index].lastDial = now
    let candidate = candidates[at: index]
    candidates[at: index].nextDial = now + retry(after: candidate)
    holdAlternatives(to: candidate, except: key, until: now + Self.alternativeDelay)
    if candidate.sources == 1 << CandidateSource.exchange.rawValue, candidate.identity == nil,
      candidate.dials >= Self.hearsayDials
    {
      remove(key)
    }
    return Dial(
      channel: key.channel, endpoint: key.endpoint, inits: candidate.isStatic ? 6 : 3,
      knownAs: candidate.identity)
  }

  /// Other endpoints of what seems to be the same peer wait for the outcome of one dial.
  private mutating func holdAlternatives(
    to candidate: Candidate, except key: CandidateKey, until: Instant
  ) {
    for index in candidates.indices {
      let other = candidates.entry(at: index)
      guard other.key.channel == key.channel, other.key.endpoint != key.endpoint,
        isSamePeer(other.value, candidate)
      else { continue }
      candidates[at: index].nextDial = max(other.value.nextDial, until)
    }
  }

  private func isSamePeer(_ left: Candidate, _ right: Candidate) -> Bool {
    if let boot = left.bootInstance, boot == right.bootInstance { return true }
    guard let peer = left.identity ?? left.claimed else { return false }
    return peer == right.identity ?? right.claimed
  }

  private mutating func retry(after candidate: Candidate) -> Duration {
    let base: Duration
    if candidate.isStatic {
      base = Self.staticInterval
    } else {
      let doublings = min(max(candidate.dials - 1, 0), 6)
      base = min(Self.firstRetry * (1 << doublings), Self.slowestRetry)
    }
    return .nanoseconds(Int64(Double(base.wholeNanoseconds) * (0.8 + 0.4 * jitter.fraction())))
  }

  /// Whether a session with whoever is there is wanted and missing.
  private func isWanted(_ index: Int) -> Bool {
    let entry = candidates.entry(at: index)
    guard let peer = entry.value.identity ?? entry.value.claimed else { return true }
    guard let session = sessions[MemberKey(channel: entry.key.channel, peer: peer)] else {
      return true
    }
    return !session.works
  }

  /// Brings `deadline` up to date; every change ends with it.
  mutating func updateDeadline() {
    var first: Instant?
    for index in candidates.indices where isWanted(index) {
      first = Instant.earliest(first, candidates[at: index].nextDial)
    }
    deadline = first.map { max($0, gate) }
  }

  // MARK: Entries

  /// How long to wait before the first dial: the side with the smaller boot instance starts.
  func wait(for candidate: Candidate) -> Duration {
    guard !candidate.isStatic, let theirs = candidate.bootInstance, theirs < bootInstance else {
      return .zero
    }
    return Self.courtesy
  }

  func rank(_ endpoint: Endpoint) -> CandidateRank {
    var best = CandidateRank.routed
    for link in links where link.contains(endpoint) {
      if !link.isContainer { return .onLink }
      best = .container
    }
    return best
  }

  private func isOurselves(_ endpoint: Endpoint) -> Bool {
    if selves.contains(endpoint) { return true }
    return endpoint.port == ownPort && links.contains { $0.address == endpoint.address }
  }

  private func check(_ endpoint: Endpoint) throws(CandidateRefusal) {
    let address = endpoint.address
    guard endpoint.port != 0, address != .zero, address.high >> 56 != 0xff else {
      throw .notUnicast
    }
    // 0.0.0.0/8, and everything from 224.0.0.0 up: multicast, reserved, broadcast.
    if let ipv4 = endpoint.ipv4, ipv4 >> 24 == 0 || ipv4 >> 28 >= 14 { throw .notUnicast }
    if endpoint.isLinkLocal && endpoint.scope == 0 { throw .noInterface }
    if isOurselves(endpoint) { throw .ourselves }
  }

  /// Adds the endpoint, or the source to it.
  mutating func note(
    _ endpoint: Endpoint, of channel: ChannelID, from source: CandidateSource, now: Instant
  ) throws(CandidateRefusal) -> CandidateKey {
    try check(endpoint)
    let key = CandidateKey(channel: channel, endpoint: endpoint)
    if let index = candidates.index(of: key) {
      candidates[at: index].lastSeen = now
      let isNew = !candidates[at: index].has(source)
      candidates[at: index].sources |= 1 << source.rawValue
      // What the person has just configured is tried at once, whatever failed before.
      if isNew && source == .staticPeer { candidates[at: index].nextDial = now }
      return key
    }
    try makeRoom(for: source)
    candidates[key] = Candidate(
      sources: 1 << source.rawValue, rank: rank(endpoint), lastSeen: now, nextDial: now)
    unverified += 1
    return key
  }

  /// Makes room for one more endpoint that nobody has proved himself at.
  private mutating func makeRoom(for source: CandidateSource) throws(CandidateRefusal) {
    guard unverified >= Self.unverifiedLimit || candidates.isFull else { return }
    var worst: Int?
    for index in candidates.indices {
      let candidate = candidates[at: index]
      guard candidate.identity == nil, !candidate.isStatic,
        candidate.source > source || (candidate.source == source && candidate.dials > 0)
      else { continue }
      guard let other = worst.map({ candidates[at: $0] }) else {
        worst = index
        continue
      }
      let isWorse =
        (candidate.source.rawValue, candidate.dials, other.lastSeen)
        > (other.source.rawValue, other.dials, candidate.lastSeen)
      if isWorse { worst = index }
    }
    guard let worst else { throw .full }
    remove(candidates.entry(at: worst).key)
  }

  mutating func remove(_ key: CandidateKey) {
    guard let index = candidates.index(of: key) else { return }
    if candidates[at: index].identity == nil { unverified -= 1 }
    candidates[key] = nil
  }

  /// Sets who proved itself at a position, and keeps count.
  mutating func setIdentity(_ peer: PeerID?, at index: Int) {
    let before = candidates[at: index].identity
    candidates[at: index].identity = peer
    if before == nil && peer != nil { unverified -= 1 }
    if before != nil && peer == nil { unverified += 1 }
  }
}
