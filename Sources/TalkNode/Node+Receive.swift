import TalkFloor
package import TalkCore
import TalkMesh
import TalkSession
import TalkWire

/// Datagrams and what is inside them.
extension Node {
  /// A datagram came from `endpoint`; it is opened in place.
  package func receive(
    _ datagram: UnsafeMutableRawBufferPointer, from endpoint: Endpoint, _ step: Step
  ) {
    if datagram.count == HelloDatagram.size, unsafe datagram[0] == HelloDatagram.type {
      unsafe receiveHello(UnsafeRawBufferPointer(datagram), from: endpoint, step)
      return
    }
    unsafe sessions.receive(
      datagram, from: endpoint, now: step.now, entropy: &step.entropy, slab: step.slab)
    unsafe drainSessions(step, datagram: UnsafeRawBufferPointer(datagram))
  }

  /// Handles what the sessions made of a datagram or a wake-up.
  func drainSessions(_ step: Step, datagram: UnsafeRawBufferPointer?) {
    sendOutgoing(step)
    while let event = sessions.popEvent() {
      switch event {
      case .admit(_, let channel, let range):
        if let datagram = unsafe datagram {
          unsafe mergeAdmit(UnsafeRawBufferPointer(rebasing: datagram[range]), channel, step)
        }
      case .auth(let pending, let introduction): judge(pending, introduction, step)
      case .up(let link, let introduction): linkUp(link, introduction, step)
      case .down(let link, let reason): linkDown(link, reason, step)
      case .moved(let link, let endpoint): linkMoved(link, endpoint, step)
      case .alias(let link, let endpoint): linkAlias(link, endpoint, step)
      case .data(let link, let kind, _, let range):
        if let datagram = unsafe datagram {
          unsafe receiveBody(
            UnsafeRawBufferPointer(rebasing: datagram[range]), kind, on: link, step)
        }
      case .ownIdentity(let channel, let endpoint, let loopback):
        candidates.reachedOurselves(at: endpoint)
        if !loopback, channels[channel] != nil {
          step.record(.tell(.identityElsewhere(endpoint)))
        }
      }
      sendOutgoing(step)
    }
  }

  private func sendOutgoing(_ step: Step) {
    while let datagram = sessions.popOutgoing() {
      step.send(datagram.range, to: datagram.endpoint)
    }
  }

  /// The opened body of a DATA datagram.
  private func receiveBody(
    _ body: UnsafeRawBufferPointer, _ kind: Kind, on link: LinkID, _ step: Step
  ) {
    guard let state = sessions.state(of: link), let channel = channels[state.channel] else {
      return
    }
    let peer = state.peer
    channel.presence.heard(peer, now: step.now)
    if kind == .voice {
      unsafe receiveVoice(body, from: peer, channel, step)
      followPresence(channel, step)
      return
    }
    let span = unsafe body.bytes
    switch kind {
    case .presence: receivePresence(span, from: peer, channel, step)
    case .admit:
      unsafe mergeAdmit(body, channel.id, step)
      channel.sync.receivedRecord(from: peer, now: step.now)
      performSync(channel, step)
    case .rosterDigest:
      guard let end = RosterDigestBody(reading: span) else { return countMalformed() }
      channel.sync.receivedEnd(end, from: peer, own: channel.roster.digest, now: step.now)
      performSync(channel, step)
    case .rosterPull:
      guard let pull = RosterPullBody(reading: span) else { return countMalformed() }
      channel.sync.receivedPull(pull, from: peer, own: channel.roster.digest)
      performSync(channel, step)
    case .report: receiveReport(span, from: peer, channel, step)
    case .auth, .bye, .voice: break
    default:
      var reader = ByteReader(span)
      guard let message = FloorMessage(kind: kind, from: &reader) else {
        return countMalformed()
      }
      channel.floor.receive(message, from: peer, now: step.now)
      performFloor(channel, step)
    }
    performPresence(channel, step)
  }

  private func countMalformed() { counters.malformed += 1 }

  private func receivePresence(
    _ span: RawSpan, from peer: PeerID, _ channel: Channel, _ step: Step
  ) {
    guard let body = PresenceBody(reading: span) else { return countMalformed() }
    channel.presence.received(body, from: peer, now: step.now)
    if body.flags.contains(.hearsYou) { channel.floor.memberHearsUs(now: step.now) }
    channel.sync.sawDigest(
      body.rosterDigest, of: peer, own: channel.roster.digest, now: step.now)
    performSync(channel, step)
  }

  private func receiveVoice(
    _ body: UnsafeRawBufferPointer, from peer: PeerID, _ channel: Channel, _ step: Step
  ) {
    var reader = unsafe ByteReader(body.bytes)
    guard let header = VoiceHeader(from: &reader),
      header.frameSize(bodyCount: body.count) != nil
    else { return countMalformed() }
    let token = channel.floor.hears(
      turn: header.turn, seat: header.seat, floorClass: header.floorClass, from: peer,
      now: step.now)
    // The floor's effects come first: the frame may be the first of a new talker.
    performFloor(channel, step)
    guard let token else {
      counters.refusedVoice += 1
      return
    }
    guard downlink.burst?.token.id == token.id else { return }
    unsafe downlink.insert(header, body: body, now: step.now)
  }

  private func receiveReport(
    _ span: RawSpan, from peer: PeerID, _ channel: Channel, _ step: Step
  ) {
    var reader = ByteReader(span)
    guard let report = ReportBody(from: &reader) else { return countMalformed() }
    guard var burst = channel.ownBurst, burst.token.id == report.token.id,
      burst.audience.contains(peer), burst.until != nil
    else { return }
    if !burst.heard.contains(peer), UInt64(report.heard) * 2 >= UInt64(burst.frames),
      report.heard > 0
    {
      burst.heard.append(peer)
    }
    burst.reported += 1
    channel.ownBurst = burst
    if burst.heard.count == burst.audience.count || burst.reported >= burst.audience.count {
      tellWhoHeard(channel, step)
    }
  }

  /// Says who heard our last burst.
  func tellWhoHeard(_ channel: Channel, _ step: Step) {
    guard let burst = channel.ownBurst else { return }
    channel.ownBurst = nil
    step.record(
      .tell(
        .heard(
          channel.id, burst.token.id, by: burst.heard,
          missed: burst.audience.filter { !burst.heard.contains($0) })))
  }
}
