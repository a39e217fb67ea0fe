package import TalkCore
package import TalkWire

extension SessionTable {
  /// Takes a datagram, opening it in place. Whatever it is, nothing traps, and nothing is answered
  /// that has no valid mac1 or seal (session.md, D4). HELLOs are not for here: they are dropped.
  package mutating func receive(
    _ datagram: UnsafeMutableRawBufferPointer, from: Endpoint, now: Instant,
    entropy: inout EntropyPool, slab: Slab
  ) {
    let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(datagram))
    if let header = DataDatagram(bytes) {
      unsafe receiveData(header, datagram, from: from, now: now, slab: slab)
    } else if let header = HandshakeDatagram(bytes) {
      unsafe receiveHandshake(
        header, Array(datagram), from: from, now: now, entropy: &entropy, slab: slab)
    } else {
      counts.malformed += 1
    }
  }

  private mutating func receiveData(
    _ header: DataDatagram, _ datagram: UnsafeMutableRawBufferPointer, from: Endpoint,
    now: Instant, slab: Slab
  ) {
    guard let session = sessions[header.receiver], session.transport != nil,
      now < session.expires
    else {
      counts.unknown += 1
      return
    }
    switch unsafe session.transport?.open(datagram, header: header) {
    case .plaintext(let newest)?:
      session.lastReceived = now
      if newest { session.endpoint = from }
      unsafe receive(
        opened: RawSpan(_unsafeBytes: UnsafeRawBufferPointer(datagram)), of: session,
        newest: newest, now: now, slab: slab)
    case .replayed?: counts.replayed += 1
    case .forged?, nil: counts.forged += 1
    }
  }

  private mutating func receive(
    opened datagram: RawSpan, of session: Session, newest: Bool, now: Instant, slab: Slab
  ) {
    let end = datagram.byteCount - 16
    guard let header = PlaintextHeader(datagram.extracting(Datagrams.headerSize..<end)),
      let kind = Kind(rawValue: header.kind)
    else {
      counts.unusable += 1
      return
    }
    let start = Datagrams.headerSize + Plaintext.headerSize
    let body = start..<start + header.length
    if session.stage == .verifying {
      let confirms =
        session.role == .responder && session.accepted
        && (kind == .auth ? header.flags & AuthBody.confirmFlag != 0 : kind != .admit)
      if !confirms {
        if kind == .auth || kind == .admit {
          receiveIntroduction(session, kind, datagram, body: body)
        } else {
          counts.unusable += 1
        }
        return
      }
      guard promote(session, now: now) else { return }
    }
    guard let id = session.link, let link = links[id] else { return }
    link.lastReceived = now
    if link.current === session {
      if newest { move(link, to: session.endpoint) }
      noteUse(of: session, now: now)
    }
    if kind != .auth, kind != .admit { session.repeatAt = nil }
    deliver(kind, header.flags, body, session: session, link: link, slab: slab)
  }

  private mutating func deliver(
    _ kind: Kind, _ flags: UInt8, _ body: Range<Int>, session: Session, link: Link, slab: Slab
  ) {
    switch kind {
    case .auth:
      // The responder repeats its AUTH: our confirmation was lost.
      if session.role == .initiator { sendAuth(session, flags: AuthBody.confirmFlag, slab: slab) }
    case .bye:
      emit(.data(link.id, kind, flags: flags, body: body))
      remove(link)
      emit(.down(link.id, .bye))
    default:
      emit(.data(link.id, kind, flags: flags, body: body))
    }
  }

  /// Asks for new keys when either side has used them as often as it should.
  private mutating func noteUse(of session: Session, now: Instant) {
    guard let transport = session.transport, session.rekeyCounter != .max,
      max(transport.nextCounter, transport.highestReceived) >= session.rekeyCounter
    else { return }
    session.rekeyCounter = .max
    session.rekeyAt = min(session.rekeyAt, now)
    schedule(now)
  }

  /// Seals a message to one peer into the slab; nothing here allocates.
  ///
  /// - Parameters:
  ///   - body: at most 1,020 bytes when padded, else 1,164.
  ///   - padded: fill up to the next size of `Plaintext.classes`: for all but voice.
  /// - Returns: nil when the link is gone, the body too long, the slab full, or the keys used up.
  package mutating func seal(
    kind: Kind, flags: UInt8, body: RawSpan, padded: Bool, to id: LinkID, slab: Slab, now: Instant
  ) -> SealedDatagram? {
    let exact = Plaintext.headerSize + body.byteCount
    guard let size = padded ? Plaintext.paddedSize(bodyCount: body.byteCount) : exact,
      size <= DataDatagram.plaintextLimit, let link = links[id], now < link.current.expires,
      let range = sealInto(
        slab, kind: kind, flags: flags, body: body, size: size, with: link.current)
    else { return nil }
    noteUse(of: link.current, now: now)
    return SealedDatagram(range: range, endpoint: link.endpoint)
  }

  /// Seals a message of a handshake and queues it; `size` is that of the plaintext.
  mutating func seal(
    kind: Kind, flags: UInt8, body: RawSpan, size: Int, with session: Session, slab: Slab
  ) -> Bool {
    guard
      let range = sealInto(
        slab, kind: kind, flags: flags, body: body, size: size, with: session)
    else {
      counts.starved += 1
      return false
    }
    queue(SealedDatagram(range: range, endpoint: session.endpoint))
    return true
  }

  private func sealInto(
    _ slab: Slab, kind: Kind, flags: UInt8, body: RawSpan, size: Int, with session: Session
  ) -> Range<Int>? {
    guard let range = slab.reserve(size + DataDatagram.overhead) else { return nil }
    let buffer = unsafe slab[range]
    let text = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer[Datagrams.headerSize..<Datagrams.headerSize + size])
    var writer = unsafe ByteWriter(text.mutableBytes)
    PlaintextHeader(kind: kind.rawValue, flags: flags, length: body.byteCount).write(to: &writer)
    writer.bytes(body)
    writer.zeros(size - Plaintext.headerSize - body.byteCount)
    guard unsafe session.transport?.seal(buffer) == true else {
      slab.shrink(to: range.lowerBound)
      return nil
    }
    return range
  }
}
