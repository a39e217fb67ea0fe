package import TalkCore
package import TalkCrypto
import TalkWire

/// All sessions of a node, in all its channels: session.md as a machine, without I/O.
///
/// How to drive it: add channels and say what to prove of oneself (`addChannel`, `setOwnChain`),
/// name endpoints to try (`dial`), hand it every datagram that is not a HELLO (`receive`), and call
/// `wake` at `deadline`, which calls move. After each call send all of `popOutgoing`, and act on
/// all of `popEvent` while the received datagram is still there: `.auth` wants `accept` or `refuse`
/// after the roster was asked. Then `seal` to links. The table never looks into a body but that of
/// AUTH, and never into anything that was not authenticated.
///
/// A table belongs to one node: a copy would share its sessions and use counters twice. Where
/// things are: INITs in `+Dial`, the three messages in `+Handshake`, AUTH and ADMIT in
/// `+Introduce`, which keys a link uses in `+Links`, DATA in `+Data`, timers in `+Wake`.
package struct SessionTable {
  /// Our own identity.
  package let identity: Identity
  /// The number of this run of the node, told in AUTH.
  package let boot: UInt64
  /// How we want to be called; from the next handshake on.
  package var nickname: String
  /// A link that is silent for this long is dropped. Presence is the node's business; this only
  /// frees what it forgot.
  package var silenceLimit = Duration.seconds(60)
  /// What was dropped.
  package internal(set) var counts = SessionCounts()

  var generator: SeededGenerator
  var channels = OrderedTable<ChannelID, SessionChannel>(limit: SessionLimits.channels)
  var sessions = OrderedTable<UInt32, Session>(limit: SessionLimits.sessions)
  var links = OrderedTable<LinkID, Link>(limit: SessionLimits.links)
  var peers = OrderedTable<PeerKey, LinkID>(limit: SessionLimits.links)
  var dials = OrderedTable<DialKey, Dial>(limit: SessionLimits.dials)
  var sources = SourceLimiter()
  var initiations = RateLimit(SessionLimits.initiations)
  var events = BoundedQueue<SessionEvent>(limit: SessionLimits.events)
  var outgoing = BoundedQueue<SealedDatagram>(limit: SessionLimits.outgoing)
  var nextLink: UInt64 = 1

  /// When `wake` wants to be called; nil when nothing is due. May be too early, never too late.
  package internal(set) var deadline: Instant?

  /// An empty table.
  ///
  /// - Parameters:
  ///   - boot: the number of this run of the node.
  ///   - seed: for jitter, which is no secret.
  package init(identity: Identity, boot: UInt64, nickname: String, seed: UInt64) {
    self.identity = identity
    self.boot = boot
    self.nickname = nickname
    generator = SeededGenerator(seed: seed)
  }

  /// Starts to take part in a channel; false when there are as many as may be. A channel that is
  /// known already is replaced, and its sessions are dropped.
  @discardableResult
  package mutating func addChannel(_ id: ChannelID, epoch: UInt64, keys: ChannelKeys) -> Bool {
    forget(id)
    guard !channels.isFull else { return false }
    var prologue = Array("Talkaround/1".utf8) + id.value.bytes
    prologue += (0..<8).map { UInt8(truncatingIfNeeded: epoch >> UInt64(8 * $0)) }
    channels[id] = SessionChannel(epoch: epoch, keys: keys, prologue: prologue)
    return true
  }

  /// Leaves a channel: every peer gets a BYE with this body, and all sessions go, without events.
  package mutating func removeChannel(
    _ id: ChannelID, bye body: RawSpan, now: Instant, slab: Slab
  ) {
    for link in linkIDs(in: id) { close(link, bye: body, now: now, slab: slab) }
    forget(id)
  }

  private mutating func forget(_ id: ChannelID) {
    sessions.removeAll { _, session in session.channel == id }
    links.removeAll { _, link in link.introduction.channel == id }
    peers.removeAll { key, _ in key.channel == id }
    dials.removeAll { key, _ in key.channel == id }
    channels[id] = nil
  }

  /// What we send with AUTH: the ADMITs that lead from the channel's creator to us, the creator's
  /// own first, at most 8, each at most 316 bytes; longer ones are left out. `joining` says that we
  /// have the invite only, and ask to be admitted.
  package mutating func setOwnChain(_ id: ChannelID, _ admits: [[UInt8]], joining: Bool) {
    guard let index = channels.index(of: id) else { return }
    let fitting = admits.filter { $0.count + Plaintext.headerSize <= 320 }
    channels[at: index].chain = Array(fitting.prefix(SessionLimits.chain))
    channels[at: index].joining = joining
  }

  /// The digest of our roster that AUTH tells.
  package mutating func setRosterDigest(_ id: ChannelID, _ digest: Bytes16) {
    guard let index = channels.index(of: id) else { return }
    channels[at: index].rosterDigest = digest
  }

  /// Says whether somebody talks on the channel: new keys then wait for the end of the burst.
  package mutating func setBurst(_ id: ChannelID, _ isInBurst: Bool) {
    guard let index = channels.index(of: id), channels[at: index].isInBurst != isInBurst else {
      return
    }
    channels[at: index].isInBurst = isInBurst
    if !isInBurst { schedule(.zero) }
  }

  /// The next result; nil when there is none.
  package mutating func popEvent() -> SessionEvent? { events.popFirst() }

  /// The next datagram to send; nil when there is none.
  package mutating func popOutgoing() -> SealedDatagram? { outgoing.popFirst() }

  /// What is known of a link; nil when it is gone.
  package func state(of id: LinkID) -> LinkState? {
    guard let link = links[id] else { return nil }
    return LinkState(
      channel: link.introduction.channel, identity: link.introduction.identity,
      peer: link.introduction.peer, boot: link.introduction.boot, endpoint: link.endpoint,
      lastReceived: link.lastReceived, since: link.since)
  }

  /// The link to a peer in a channel, if there is one.
  package func link(to peer: PeerID, in channel: ChannelID) -> LinkID? {
    peers[PeerKey(channel: channel, peer: peer)]
  }

  /// The links of a channel, oldest first.
  package func linkIDs(in channel: ChannelID) -> [LinkID] {
    links.values.filter { $0.introduction.channel == channel }.map(\.id)
  }

  /// Makes sure that `wake` is called by `time`.
  mutating func schedule(_ time: Instant) {
    deadline = .earliest(deadline, time)
  }

  mutating func emit(_ event: SessionEvent) {
    if !events.append(event) { counts.starved += 1 }
  }

  /// Copies a finished datagram into the slab and queues it.
  mutating func send(_ bytes: [UInt8], to endpoint: Endpoint, slab: Slab) {
    guard let range = slab.reserve(bytes.count) else {
      counts.starved += 1
      return
    }
    unsafe slab[range].copyBytes(from: bytes)
    queue(SealedDatagram(range: range, endpoint: endpoint))
  }

  mutating func queue(_ datagram: SealedDatagram) {
    if !outgoing.append(datagram) { counts.starved += 1 }
  }

  /// Drops a handshake; not for sessions of a link.
  mutating func drop(_ session: Session) {
    sessions[session.localIndex] = nil
  }

  /// `duration` lengthened or shortened by up to a tenth.
  mutating func jittered(_ duration: Duration) -> Duration {
    let factor = 0.9 + 0.2 * generator.fraction()
    return .nanoseconds(Int64(Double(duration.wholeNanoseconds) * factor))
  }

  /// A session index that is free, random and not zero; nil without entropy.
  mutating func freshIndex(_ entropy: inout EntropyPool) -> UInt32? {
    for _ in 0..<8 {
      guard let number = entropy.drawNumber() else { return nil }
      let index = UInt32(truncatingIfNeeded: number)
      if index != 0, sessions.index(of: index) == nil { return index }
    }
    return nil
  }
}
