package import TalkCore
import TalkCrypto
import TalkWire

extension SessionTable {
  /// Tries to reach a member at an endpoint, for 90 s, unless a live link or a dial is there.
  ///
  /// Only schedules: the INIT leaves with the next `wake`, whose `deadline` may be now.
  ///
  /// - Parameters:
  ///   - boot: the boot instance that the endpoint told in a HELLO: a live link to another run of
  ///     that node doesn't count then.
  ///   - waitFirst: leave the other side 0.3 s to begin: for the larger boot instance of the two.
  ///   - attempts: the most INITs to send; a HELLO is worth three.
  package mutating func dial(
    _ channel: ChannelID, _ endpoint: Endpoint, boot: UInt64? = nil, waitFirst: Bool,
    attempts: Int = .max, now: Instant
  ) {
    let key = DialKey(channel: channel, endpoint: endpoint)
    guard channels[channel] != nil, dials[key] == nil else { return }
    let isServed = links.values.contains { link in
      link.introduction.channel == channel && link.endpoint == endpoint
        && now - link.lastReceived < SessionLimits.liveTime
        && (boot == nil || boot == link.introduction.boot)
    }
    guard !isServed else { return }
    guard !dials.isFull else {
      counts.flooded += 1
      return
    }
    let next = waitFirst ? now + SessionLimits.secondSideWait : now
    dials[key] = Dial(
      boot: boot, next: next, giveUp: now + SessionLimits.dialTime, left: attempts)
    schedule(next)
  }

  /// Begins to make new keys for a link.
  mutating func dialForKeys(_ link: Link, now: Instant) {
    let key = DialKey(channel: link.introduction.channel, endpoint: link.endpoint)
    if let index = dials.index(of: key) {
      dials[at: index].link = link.id
    } else {
      dials[key] = Dial(
        link: link.id, next: now, giveUp: now + SessionLimits.dialTime, left: .max)
    }
    schedule(now)
  }

  /// Goes on with every dial that is due.
  mutating func wakeDials(now: Instant, entropy: inout EntropyPool, slab: Slab) {
    for key in Array(dials.keys) {
      guard let dial = dials[key] else { continue }
      if dial.giveUp <= now || dial.next <= now && isFinished(dial) {
        endDial(key)
      } else if dial.next <= now {
        advance(key, now: now, entropy: &entropy, slab: slab)
      } else {
        schedule(min(dial.next, dial.giveUp))
      }
    }
  }

  /// True when no INIT may be sent any more, and none waits for its answer.
  private func isFinished(_ dial: Dial) -> Bool {
    if let link = dial.link, links[link] == nil { return true }
    return dial.left == 0 && !dial.sessions.contains { sessions[$0] != nil }
  }

  private mutating func advance(
    _ key: DialKey, now: Instant, entropy: inout EntropyPool, slab: Slab
  ) {
    guard let index = dials.index(of: key) else { return }
    let pauses = SessionLimits.retryPauses
    let pause = jittered(pauses[min(dials[at: index].attempt, pauses.count - 1)])
    let isAnswered = sessions.values.contains {
      $0.stage == .verifying && $0.channel == key.channel && $0.endpoint == key.endpoint
    }
    dials[at: index].next = now + pause
    schedule(now + pause)
    guard !isAnswered, dials[at: index].left > 0 else { return }
    guard let session = initiate(key, now: now, entropy: &entropy, slab: slab) else {
      counts.starved += 1
      return
    }
    dials[at: index].attempt += 1
    dials[at: index].left -= 1
    dials[at: index].sessions.append(session.localIndex)
    if dials[at: index].sessions.count > SessionLimits.attemptsKept {
      let oldest = dials[at: index].sessions.removeFirst()
      if let session = sessions[oldest], session.stage == .initiating { drop(session) }
    }
  }

  /// Sends an INIT with a fresh ephemeral key; nil when entropy or room is lacking.
  private mutating func initiate(
    _ key: DialKey, now: Instant, entropy: inout EntropyPool, slab: Slab
  ) -> Session? {
    guard let channel = channels[key.channel], !sessions.isFull,
      let localIndex = freshIndex(&entropy),
      let handshake = makeHandshake(.initiator, channel, &entropy),
      let message = try? handshake.write(
        [UInt8](repeating: 0, count: HandshakeDatagram.payloadSize(.initiation)))
    else { return nil }
    let header = HandshakeDatagram(type: .initiation, sender: localIndex, receiver: 0)
    let (bytes, mac) = Self.datagram(header, message, channel.keys)
    let session = Session(
      localIndex: localIndex, channel: key.channel, role: .initiator, created: now,
      initiationMac: mac, endpoint: key.endpoint, handshake: handshake)
    sessions[localIndex] = session
    schedule(session.expires)
    send(bytes, to: key.endpoint, slab: slab)
    return session
  }

  /// Forgets a dial and its unanswered attempts.
  mutating func endDial(_ key: DialKey) {
    for index in dials[key]?.sessions ?? [] {
      if let session = sessions[index], session.stage == .initiating { drop(session) }
    }
    dials[key] = nil
  }

  /// The dial that a session of ours belongs to.
  func dialKey(of session: Session) -> DialKey? {
    dials.indices.first { dials.entry(at: $0).value.sessions.contains(session.localIndex) }
      .map { dials.entry(at: $0).key }
  }
}
