import TalkCore
import TalkFloor
import TalkSession
import TalkVoice
import TalkWire

/// What the floor wants done.
extension Node {
  /// Performs the floor's effects in order.
  func performFloor(_ channel: Channel, _ step: Step) {
    var changed = false
    while let effect = channel.floor.effects.popFirst() {
      changed = perform(effect, channel, step) || changed
    }
    guard changed else { return }
    // New keys wait for the end of a burst.
    sessions.setBurst(channel.id, channel.floor.snapshot.token != nil)
    let times = uplink.channel == channel.id ? uplink.times : nil
    step.record(.tell(.floor(channel.id, times)))
  }

  /// Performs one effect; true when people may see a difference.
  private func perform(_ effect: FloorEffect, _ channel: Channel, _ step: Step) -> Bool {
    switch effect {
    case .send(let message, let audience):
      send(message, to: audience, channel, step)
      if case .queue = message { return true }
      return false
    case .startTransmit(let token): startTransmit(token, channel, step)
    case .renumberTransmit(let token): uplink.renumber(token)
    case .stopTransmit(let token, let reason): stopTransmit(token, reason, channel, step)
    case .finishTransmit: uplink.finish(now: step.now)
    case .limitWarning:
      tone(.limitWarning, .limitWarning, .none, channel, step)
      return false
    case .talker(let token): beginListening(token, channel, step)
    case .talkerDone(let token, let lastFrame):
      endListening(token, lastFrame: lastFrame, channel, step)
    case .talkerCut(let token):
      endListening(token, lastFrame: .max, channel, step)
      downlink.cut(token, now: step.now)
    case .queued(let place):
      if uplink.channel == channel.id { uplink.isQueued = true }
      tone(.queued, .queued, .place(place), channel, step)
    case .denied(let reason):
      closeUplink(of: channel)
      tone(.busy, .busy, .denied(reason), channel, step)
    case .unheard(let reason):
      closeUplink(of: channel)
      tone(.unheard, .unheard, .unheard(reason), channel, step)
    case .reserveTurns(let through):
      step.record(.reserveTurns(channel.id, through: through))
      return false
    }
    return true
  }

  /// Sounds a tone and tells why.
  func tone(
    _ event: ToneEvent, _ tone: Tone, _ reason: ToneReason, _ channel: Channel, _ step: Step
  ) {
    if !silentTones.contains(event) { downlink.play(tone) }
    step.record(.tell(.tone(channel.id, event, reason)))
  }

  /// Sounds that a member came or went, if the person wants to hear that.
  func presenceTone(_ event: ToneEvent, of peer: PeerID, _ channel: Channel, _ step: Step) {
    guard channel.id == current, !silentTones.contains(event) else { return }
    tone(event, event == .came ? .came : .left, .member(peer), channel, step)
  }

  private func send(
    _ message: FloorMessage, to audience: FloorAudience, _ channel: Channel, _ step: Step
  ) {
    switch audience {
    case .peer(let peer):
      guard let link = channel.peers[peer]?.link else { return }
      seal(message.kind, to: link, step) { message.write(to: &$0) }
    case .everyone: sealForAll(message.kind, channel, step) { message.write(to: &$0) }
    }
  }

  // MARK: Our burst

  private func startTransmit(_ token: Token, _ channel: Channel, _ step: Step) {
    if channel.ownBurst != nil { tellWhoHeard(channel, step) }
    downlink.isMuted = true
    downlink.cutAll(now: step.now)
    uplink.grant(token, now: step.now)
    channel.ownBurst = Channel.OwnBurst(
      token: token, audience: Array(channel.peers.keys), frames: 0)
    step.record(.tell(.burstBegan(channel.id, token.id)))
    permitIfReady(channel, step)
    sendFrames(channel, step)
  }

  /// The permit tone: the grant and the first captured sample are there.
  func permitIfReady(_ channel: Channel, _ step: Step) {
    guard uplink.token != nil, uplink.hasSamples, uplink.times?.permitted == nil else { return }
    uplink.permit(now: step.now)
    tone(.permit, .permit, .none, channel, step)
    step.record(.tell(.floor(channel.id, uplink.times)))
  }

  private func stopTransmit(
    _ token: Token, _ reason: StopReason, _ channel: Channel, _ step: Step
  ) {
    downlink.isMuted = false
    if var burst = channel.ownBurst {
      burst.until = step.now + Channel.reportWait
      burst.frames = uplink.nextSequence
      channel.ownBurst = burst
    }
    step.record(
      .tell(
        .burstEnded(
          channel.id, token.id, frames: Int(uplink.nextSequence), lost: 0)))
    switch reason {
    case .released: closeUplink(of: channel)
    case .limit:
      closeUplink(of: channel)
      tone(.cut, .cut, .stopped(reason), channel, step)
    case .unheard:
      closeUplink(of: channel)
      tone(.unheard, .unheard, .stopped(reason), channel, step)
    case .preempted, .lost:
      // The key may still be down: then we wait for the floor with an open microphone.
      uplink.loseFloor(now: step.now)
      if pressed?.channel != channel.id { closeUplink(of: channel) }
      tone(.cut, .cut, .stopped(reason), channel, step)
    }
  }

  /// Closes the microphone if it was open for this channel.
  func closeUplink(of channel: Channel) {
    guard uplink.channel == channel.id else { return }
    uplink.close()
  }

  // MARK: Others' bursts

  private func beginListening(_ token: Token, _ channel: Channel, _ step: Step) {
    guard rendersVoice(of: channel) else { return }
    downlink.begin(token, on: channel.id, now: step.now)
    step.record(.tell(.burstBegan(channel.id, token.id)))
    if uplink.channel == channel.id, uplink.token == nil, !uplink.isQueued {
      tone(.busy, .busy, .holder(token.id.holder), channel, step)
    }
  }

  /// Of several channels the current one plays; another only while nothing else does.
  private func rendersVoice(of channel: Channel) -> Bool {
    guard channel.id != current, let burst = downlink.burst, !burst.done else { return true }
    return burst.channel == channel.id
  }

  private func endListening(
    _ token: Token, lastFrame: UInt32, _ channel: Channel, _ step: Step
  ) {
    guard let (burst, missed) = downlink.end(token, lastFrame: lastFrame) else { return }
    step.record(
      .tell(
        .burstEnded(channel.id, token.id, frames: Int(burst.heard), lost: Int(missed))))
    guard hasSpeaker, let link = channel.peers[token.id.holder]?.link else { return }
    let report = ReportBody(token: token, heard: burst.heard, missed: missed)
    seal(.report, to: link, step) { report.write(to: &$0) }
  }
}
