package import TalkCore
import TalkCrypto
import TalkWire

extension SessionTable {
  /// Sends FINAL (by the initiator), AUTH and our ADMIT chain, and schedules the repeat.
  mutating func introduce(_ session: Session, now: Instant, slab: Slab) {
    guard let channel = channels[session.channel] else { return }
    if session.role == .initiator { send(session.answer, to: session.endpoint, slab: slab) }
    sendAuth(session, flags: 0, slab: slab)
    for admit in channel.chain {
      _ = unsafe seal(
        kind: .admit, flags: 0, body: admit.span.bytes, size: Self.introductionSize,
        with: session, slab: slab)
    }
    scheduleRepeat(session, now: now)
  }

  /// Tells the responder that its AUTH was verified; again until it is heard, since its own repeats
  /// may all be lost.
  private mutating func confirm(_ session: Session, now: Instant, slab: Slab) {
    sendAuth(session, flags: AuthBody.confirmFlag, slab: slab)
    scheduleRepeat(session, now: now)
  }

  private mutating func scheduleRepeat(_ session: Session, now: Instant) {
    let pauses = SessionLimits.introductionPauses
    let time = now + jittered(pauses[min(session.repeats, pauses.count - 1)])
    session.repeatAt = time
    session.repeats += 1
    schedule(min(time, session.expires))
  }

  /// Sends again what a session waits to have answered.
  mutating func repeatIntroduction(_ session: Session, now: Instant, slab: Slab) {
    if session.stage == .verifying {
      introduce(session, now: now, slab: slab)
    } else if now - session.promotedAt < SessionLimits.verifyTime {
      confirm(session, now: now, slab: slab)
    } else {
      session.repeatAt = nil
    }
  }

  /// AUTH and ADMIT have one size, so that a chain's length alone shows.
  private static var introductionSize: Int { 320 }

  mutating func sendAuth(_ session: Session, flags: UInt8, slab: Slab) {
    guard let channel = channels[session.channel] else { return }
    let ours = identity.publicIdentity
    let text = session.signedText(by: session.role, ours: ours.agreement, epoch: channel.epoch)
    let auth = AuthBody(
      signingKey: ours.signing.bytes, agreementKey: ours.agreement.bytes, boot: boot,
      sender: session.localIndex, receiver: session.remoteIndex, joining: channel.joining,
      nickname: nickname, rosterDigest: channel.rosterDigest, signature: identity.sign(text))
    var body = [UInt8](repeating: 0, count: AuthBody.size)
    var span = body.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    auth.write(to: &writer)
    _ = unsafe seal(
      kind: .auth, flags: flags, body: body.span.bytes, size: Self.introductionSize,
      with: session, slab: slab)
  }

  /// Reads AUTH or ADMIT of a handshake's partner.
  mutating func receiveIntroduction(
    _ session: Session, _ kind: Kind, _ datagram: RawSpan, body: Range<Int>
  ) {
    if kind == .auth, session.introduction == nil {
      session.introduction = readAuth(session, datagram.extracting(body))
      if session.introduction == nil { counts.forged += 1 }
    }
    // ADMITs of somebody unknown are not looked at; they are repeated.
    guard let introduction = session.introduction else { return }
    let pending = PendingID(index: session.localIndex)
    if kind == .admit { emit(.admit(pending, session.channel, body: body)) }
    if !session.accepted { emit(.auth(pending, introduction)) }
  }

  private func readAuth(_ session: Session, _ body: RawSpan) -> Introduction? {
    var reader = ByteReader(body)
    guard let channel = channels[session.channel], let auth = AuthBody(from: &reader),
      let signing = Key32(auth.signingKey), let agreement = Key32(auth.agreementKey),
      agreement == session.remoteStatic, auth.sender == session.remoteIndex,
      auth.receiver == session.localIndex
    else { return nil }
    let text = session.signedText(
      by: session.role == .initiator ? .responder : .initiator,
      ours: identity.publicIdentity.agreement, epoch: channel.epoch)
    guard Ed25519.verify(auth.signature, of: text, by: signing) else { return nil }
    let identity = PublicIdentity(signing: signing, agreement: agreement)
    return Introduction(
      channel: session.channel, endpoint: session.endpoint, identity: identity,
      peer: identity.peerID, boot: auth.boot, nickname: auth.nickname, joining: auth.joining,
      rosterDigest: auth.rosterDigest)
  }

  /// The node's answer to `.auth`: the partner is a member. The initiator's link is up at once, the
  /// responder's when the initiator has confirmed. False when the handshake is gone.
  @discardableResult
  package mutating func accept(_ pending: PendingID, now: Instant, slab: Slab) -> Bool {
    guard let session = sessions[pending.index], session.stage == .verifying,
      session.introduction != nil
    else { return false }
    guard !session.accepted else { return true }
    session.accepted = true
    session.repeats = 0
    if session.role == .initiator {
      guard promote(session, now: now) else { return false }
      confirm(session, now: now, slab: slab)
    } else {
      session.expires = now + SessionLimits.verifyTime
      introduce(session, now: now, slab: slab)
    }
    return true
  }

  /// The node's answer to `.auth`: the partner is no member; it gets no answer.
  package mutating func refuse(_ pending: PendingID) {
    guard let session = sessions[pending.index], session.stage == .verifying else { return }
    if let key = dialKey(of: session) { endDial(key) }
    drop(session)
  }
}
