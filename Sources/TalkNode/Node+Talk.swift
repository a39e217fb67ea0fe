package import TalkCore
import TalkFloor
import TalkVoice
package import TalkWire

/// Why a press has no effect; each names what the person can do.
package enum TalkRefusal: Error, Hashable, Sendable {
  /// There is no channel: create or join one.
  case noChannel
  /// We are not a member yet: the inviter's admit window must be open.
  case joining
  /// There is nothing to speak into: plug in a microphone, or start the sound server.
  case noMicrophone
  /// Too many keys are down at once.
  case tooManyKeys
}

/// The key and our voice.
extension Node {
  /// A source's key is down, or still down; on the current channel when none is named.
  package func press(
    _ source: PressSource, channel: ChannelID?, floorClass: FloorClass, _ step: Step
  ) throws(TalkRefusal) {
    guard let id = channel ?? current, let target = channels[id] else { throw .noChannel }
    guard !target.joining else { throw .joining }
    // A key that is down stays down while a sound server restarts: its voice comes back with it.
    guard hasMicrophone || keys.isDown(source) else {
      tone(.unheard, .unheard, .noMicrophone, target, step)
      throw .noMicrophone
    }
    let wanted = KeyTable.Target(channel: id, floorClass: floorClass)
    guard keys.assert(source, wanted, now: step.now) else { throw .tooManyKeys }
    followKeys(step)
  }

  /// A source's key is up, or the source is gone.
  package func release(_ source: PressSource, _ step: Step) {
    keys.release(source)
    followKeys(step)
  }

  /// True when the source's key is down.
  package func isPressed(_ source: PressSource) -> Bool { keys.isDown(source) }

  /// Asks the floors for what the keys want now.
  func followKeys(_ step: Step) {
    let wanted = keys.target
    guard wanted != pressed else { return }
    let before = pressed
    pressed = wanted
    if let before, let channel = channels[before.channel], wanted?.channel != before.channel {
      channel.floor.release(now: step.now)
      performFloor(channel, step)
      // A burst has begun its tail now; a press that only waited is over.
      if uplink.tailEnd == nil { closeUplink(of: channel) }
    }
    guard let wanted, let channel = channels[wanted.channel] else { return }
    guard uplink.channel != channel.id || uplink.tailEnd == nil else {
      // A new press within the tail of the last burst: that burst ends first.
      endTail(step)
      return press(wanted, channel, step)
    }
    press(wanted, channel, step)
  }

  private func press(_ wanted: KeyTable.Target, _ channel: Channel, _ step: Step) {
    if let other = uplink.channel.flatMap({ channels[$0] }), other.id != channel.id {
      endTail(step)
    }
    uplink.open(channel.id, now: step.now)
    let busy = channel.floor.snapshot
    channel.floor.press(floorClass: wanted.floorClass, now: step.now)
    if busy.state == .taken, let holder = busy.token?.id.holder {
      tone(.busy, .busy, .holder(holder), channel, step)
    }
    performFloor(channel, step)
  }

  /// True when the microphone should run.
  package var wantsCapture: Bool { uplink.wantsCapture }

  /// True when the speaker should run.
  package var wantsPlayback: Bool { downlink.wantsPlayback }

  /// Captured samples, mono at 48 kHz, in order.
  package func captured(_ samples: UnsafeBufferPointer<Int16>, _ step: Step) {
    guard let channel = uplink.channel.flatMap({ channels[$0] }) else { return }
    unsafe uplink.add(samples)
    permitIfReady(channel, step)
    sendFrames(channel, step)
  }

  /// Sends every frame that waits, once the floor is ours.
  func sendFrames(_ channel: Channel, _ step: Step, last: Bool = false) {
    guard let token = uplink.token else { return }
    while let frame = unsafe uplink.nextFrame {
      guard channel.floor.mayTransmit(now: step.now) else {
        performFloor(channel, step)
        return
      }
      let isLast = last && uplink.keptCount == 1
      let header = VoiceHeader(
        turn: token.id.turn, seat: token.id.seat, sequence: uplink.nextSequence,
        floorClass: token.floorClass, isLast: isLast, frameLength: Uplink.frameLength)
      sealForAll(.voice, channel, step) { writer in
        header.write(to: &writer)
        unsafe writer.bytes(frame.bytes)
      }
      channel.floor.transmitted(frame: uplink.nextSequence, now: step.now)
      uplink.dropFrame()
    }
  }

  /// The tail is over: the last frame leaves, and the floor with it.
  func endTail(_ step: Step) {
    guard let channel = uplink.channel.flatMap({ channels[$0] }), uplink.tailEnd != nil else {
      return
    }
    if uplink.hasSamples { uplink.flushTail() }
    sendFrames(channel, step, last: true)
    let sent = uplink.nextSequence
    channel.floor.transmitFinished(lastFrame: sent == 0 ? .max : sent - 1, now: step.now)
    performFloor(channel, step)
    // The floor closes the uplink when it ends the burst; if it had no burst, nothing is left.
    if uplink.tailEnd != nil { closeUplink(of: channel) }
  }

  /// Fills `target` with what the speaker plays next.
  package func render(into target: UnsafeMutableBufferPointer<Int16>, now: Instant) {
    unsafe downlink.render(into: target, now: now)
  }
}
