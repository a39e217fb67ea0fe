package import TalkCore
import TalkFloor

/// The timers of clause 11 and what their expiry does.
extension OffNetworkFloor {
  /// When `wake` wants to be called; nil means never.
  package var deadline: Instant? { clock.earliest }

  /// Does what is due.
  package mutating func wake(now: Instant) {
    if clock.take(\.t201, now: now) { expireT201(now: now) }
    if clock.take(\.t203, now: now) { expireT203(now: now) }
    if clock.take(\.t204, now: now) { expireT204(now: now) }
    if clock.take(\.t205, now: now) { expireT205(now: now) }
    if clock.take(\.t206, now: now) { expireT206(now: now) }
    if clock.take(\.t207, now: now) { expireT207(now: now) }
    if clock.take(\.t230, now: now) { expireT230() }
    if clock.take(\.t233, now: now) { expireT233(now: now) }
  }

  /// 7.2.3.6, T201 expired: the request once more, or, after C201 of them, the floor is ours.
  private mutating func expireT201(now: Instant) {
    guard state == .pendingRequest else { return }
    guard c201.isAtLimit else {
      c201.increment()
      clock.t201 = now + timers.t201
      send(.request(priority))
      return
    }
    queue = []
    send(.taken)
    enterHasPermission(now: now)
  }

  /// T203 expired, the talker is gone: silence (7.2.3.4), or a new request from the queue (7.2.3.8)
  private mutating func expireT203(now: Instant) {
    switch state {
    case .noPermission: enterSilence(now: now)
    case .queued:
      stopRendering()
      current = nil
      candidate = nil
      enterPendingRequest(now: now)
    case .pendingRequest:
      stopRendering()
      current = nil
      candidate = nil
    case .startStop, .silence, .hasPermission, .pendingGranted: break
    }
  }

  /// 7.2.3.8, T204 expired: asks for the place once more, or gives up after C204.
  private mutating func expireT204(now: Instant) {
    guard state == .queued else { return }
    guard c204.isAtLimit else {
      c204.increment()
      clock.t204 = now + timers.t204
      send(.queuePositionRequest)
      return
    }
    enterSilence(now: now)
  }

  /// 7.2.3.7, T205 expired: grants once more; after C205 of them waits T233 if others are queued,
  /// else nobody has the floor.
  private mutating func expireT205(now: Instant) {
    guard state == .pendingGranted, let granted = lastGranted else { return }
    guard c205.isAtLimit else {
      c205.increment()
      clock.t205 = now + timers.t205
      send(granted)
      return
    }
    c205.reset()
    if queue.isEmpty {
      enterSilence(now: now)
    } else {
      clock.t233 = now + timers.t233
    }
  }

  /// 7.2.3.5, T206 expired: the user is warned.
  private mutating func expireT206(now: Instant) {
    guard state == .hasPermission else { return }
    clock.t207 = now + timers.t207
    effects.append(.limitWarning)
  }

  /// 7.2.3.5, T207 expired: the burst ends, whatever the button does.
  private mutating func expireT207(now: Instant) {
    guard state == .hasPermission else { return }
    endBurst(.limit)
    passOn(now: now)
  }

  /// 7.2.3.3, T230 expired: the call is over.
  private mutating func expireT230() {
    guard state == .silence else { return }
    releaseCall()
  }

  /// 7.2.3.7, T233 expired: the granted user did not answer, the next one gets the floor.
  private mutating func expireT233(now: Instant) {
    guard state == .pendingGranted else { return }
    passOn(now: now)
  }
}
