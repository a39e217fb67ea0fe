import TalkCore
import TalkCrypto
import TalkWire

extension SessionTable {
  /// A fresh Noise handshake in a channel; nil without entropy.
  func makeHandshake(
    _ role: NoiseRole, _ channel: SessionChannel, _ entropy: inout EntropyPool
  ) -> NoiseHandshake? {
    guard let ephemeral = entropy.draw(32) else { return nil }
    return channel.keys.psk.withBytes { psk in
      NoiseHandshake(
        pattern: .xxPSK3, role: role, prologue: channel.prologue, preSharedKeys: [psk],
        identity: identity, ephemeral: ephemeral)
    }
  }

  /// A whole handshake datagram, and its mac1. mac2 is zero: there are no cookies yet.
  static func datagram(
    _ header: HandshakeDatagram, _ message: [UInt8], _ keys: ChannelKeys
  ) -> (bytes: [UInt8], mac: Bytes16) {
    var bytes = [UInt8](repeating: 0, count: HandshakeDatagram.size)
    var span = bytes.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    header.write(to: &writer)
    writer.bytes(message)
    precondition(writer.offset == HandshakeDatagram.mac1.lowerBound, "a Noise message of 144 bytes")
    let mac = unsafe keys.mac1(of: bytes.span.bytes.extracting(HandshakeDatagram.macCovered))
    bytes.replaceSubrange(HandshakeDatagram.mac1, with: mac.bytes)
    return (bytes, mac)
  }

  /// mac1 of a received handshake datagram, if it is right under `keys`; compared in constant time.
  private static func validMac(_ bytes: [UInt8], _ keys: ChannelKeys) -> Bytes16? {
    let expected = unsafe keys.mac1(of: bytes.span.bytes.extracting(HandshakeDatagram.macCovered))
    let found = Bytes16(Array(bytes[HandshakeDatagram.mac1]))
    let difference = (expected.high ^ found.high) | (expected.low ^ found.low)
    return difference == 0 ? expected : nil
  }

  private static func message(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes[HandshakeDatagram.message])
  }

  mutating func receiveHandshake(
    _ header: HandshakeDatagram, _ bytes: [UInt8], from: Endpoint, now: Instant,
    entropy: inout EntropyPool, slab: Slab
  ) {
    if header.type == .initiation {
      for key in channels.keys {
        guard let channel = channels[key], let mac = Self.validMac(bytes, channel.keys) else {
          continue
        }
        receiveInitiation(
          header, bytes, mac: mac, in: key, from: from, now: now, entropy: &entropy, slab: slab)
        return
      }
      counts.foreign += 1
      return
    }
    guard let session = sessions[header.receiver] else {
      counts.unknown += 1
      return
    }
    guard let channel = channels[session.channel],
      let mac = Self.validMac(bytes, channel.keys)
    else {
      counts.foreign += 1
      return
    }
    if header.type == .response {
      receiveResponse(header, bytes, mac: mac, session: session, now: now, slab: slab)
    } else {
      receiveFinal(header, bytes, session: session, from: from, now: now)
    }
  }

  private mutating func receiveInitiation(
    _ header: HandshakeDatagram, _ bytes: [UInt8], mac: Bytes16, in id: ChannelID,
    from: Endpoint, now: Instant, entropy: inout EntropyPool, slab: Slab
  ) {
    guard sources.take(from, now: now), initiations.take(now: now) else {
      counts.flooded += 1
      return
    }
    if let own = sessions[header.sender], own.role == .initiator, own.initiationMac == mac {
      emit(.ownIdentity(id, own.endpoint, loopback: true))
      if let key = dialKey(of: own) { endDial(key) }
      return
    }
    if let known = sessions.values.first(where: {
      $0.role == .responder && $0.initiationMac == mac
    }) {
      if known.stage == .responding { send(known.answer, to: from, slab: slab) }
      return
    }
    guard makeRoom(for: from, in: id) else {
      counts.flooded += 1
      return
    }
    respond(
      header, bytes, mac: mac, in: id, from: from, now: now, entropy: &entropy, slab: slab)
  }

  /// Counts the half-open handshakes; the oldest attempt of the same endpoint gives way.
  private mutating func makeRoom(for endpoint: Endpoint, in id: ChannelID) -> Bool {
    let source = SourceLimiter.source(of: endpoint)
    var halfOpen = sessions.values.filter(\.isHalfOpen)
    let same = halfOpen.filter {
      $0.endpoint == endpoint && $0.channel == id && $0.stage == .responding
    }
    if same.count >= SessionLimits.attemptsKept,
      let oldest = same.min(by: { $0.created < $1.created })
    {
      drop(oldest)
      halfOpen.removeAll { $0 === oldest }
    }
    let fromSource = halfOpen.filter { SourceLimiter.source(of: $0.endpoint) == source }
    return halfOpen.count < SessionLimits.halfOpen
      && fromSource.count < SessionLimits.halfOpenPerSource && !sessions.isFull
  }

  private mutating func respond(
    _ header: HandshakeDatagram, _ bytes: [UInt8], mac: Bytes16, in id: ChannelID,
    from: Endpoint, now: Instant, entropy: inout EntropyPool, slab: Slab
  ) {
    guard let channel = channels[id], let localIndex = freshIndex(&entropy),
      let handshake = makeHandshake(.responder, channel, &entropy)
    else {
      counts.starved += 1
      return
    }
    guard (try? handshake.read(Self.message(bytes))) != nil,
      let message = try? handshake.write(
        [UInt8](repeating: 0, count: HandshakeDatagram.payloadSize(.response)))
    else {
      counts.forged += 1
      return
    }
    let session = Session(
      localIndex: localIndex, channel: id, role: .responder, created: now, initiationMac: mac,
      endpoint: from, handshake: handshake)
    session.remoteIndex = header.sender
    session.answer =
      Self.datagram(
        HandshakeDatagram(type: .response, sender: localIndex, receiver: header.sender), message,
        channel.keys
      ).bytes
    sessions[localIndex] = session
    schedule(session.expires)
    send(session.answer, to: from, slab: slab)
  }

  private mutating func receiveResponse(
    _ header: HandshakeDatagram, _ bytes: [UInt8], mac: Bytes16, session: Session, now: Instant,
    slab: Slab
  ) {
    if session.stage == .verifying, session.responseMac == mac {
      send(session.answer, to: session.endpoint, slab: slab)
      return
    }
    guard session.stage == .initiating, let handshake = session.handshake,
      let channel = channels[session.channel]
    else {
      counts.unknown += 1
      return
    }
    guard (try? handshake.read(Self.message(bytes))) != nil,
      let remote = handshake.remoteStatic
    else {
      counts.forged += 1
      return
    }
    if endsEarly(session, remote: remote, now: now) { return }
    session.remoteIndex = header.sender
    session.responseMac = mac
    guard
      let message = try? handshake.write(
        [UInt8](repeating: 0, count: HandshakeDatagram.payloadSize(.final))),
      session.takeKeys(now: now)
    else {
      counts.forged += 1
      drop(session)
      return
    }
    session.answer =
      Self.datagram(
        HandshakeDatagram(
          type: .final, sender: session.localIndex, receiver: session.remoteIndex), message,
        channel.keys
      ).bytes
    dropRivals(of: session)
    introduce(session, now: now, slab: slab)
  }

  /// Ends a handshake that answers with our own identity, or is a second way to a live peer.
  private mutating func endsEarly(_ session: Session, remote: Key32, now: Instant) -> Bool {
    let key = dialKey(of: session)
    if remote == identity.publicIdentity.agreement {
      emit(.ownIdentity(session.channel, session.endpoint, loopback: false))
    } else {
      guard let key, let dial = dials[key], dial.link == nil,
        let link = links.values.first(where: {
          $0.introduction.channel == session.channel
            && $0.introduction.identity.agreement == remote
        }), now - link.lastReceived < SessionLimits.liveTime,
        dial.boot == nil || dial.boot == link.introduction.boot
      else { return false }
      emit(.alias(link.id, session.endpoint))
    }
    drop(session)
    if let key { endDial(key) }
    return true
  }

  /// One attempt was answered: the others of the same dial are of no use.
  private mutating func dropRivals(of session: Session) {
    guard let key = dialKey(of: session), let index = dials.index(of: key) else { return }
    for other in dials[at: index].sessions where other != session.localIndex {
      if let rival = sessions[other], rival.stage == .initiating { drop(rival) }
    }
    dials[at: index].sessions = [session.localIndex]
  }

  private mutating func receiveFinal(
    _ header: HandshakeDatagram, _ bytes: [UInt8], session: Session, from: Endpoint, now: Instant
  ) {
    guard session.role == .responder, header.sender == session.remoteIndex else {
      counts.unknown += 1
      return
    }
    // Copies of a FINAL that was taken need no answer: AUTH is repeated by its own timer.
    guard session.stage == .responding, let handshake = session.handshake else { return }
    guard (try? handshake.read(Self.message(bytes))) != nil,
      let remote = handshake.remoteStatic, session.takeKeys(now: now)
    else {
      counts.forged += 1
      return
    }
    session.endpoint = from
    schedule(session.expires)
    if remote == identity.publicIdentity.agreement {
      emit(.ownIdentity(session.channel, from, loopback: false))
      drop(session)
    }
  }
}
