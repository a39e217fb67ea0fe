package import TalkCore
import TalkFloor
package import TalkWire

/// The PTT button.
extension OffNetworkFloor {
  /// The button is pressed.
  package mutating func press(_ floorClass: FloorClass, now: Instant) {
    switch state {
    case .startStop, .silence, .noPermission:
      // 7.2.3.3 and 7.2.3.4, PTT button pressed; in 'Start-stop' a press sets the call up anew, as
      // T230 has ended it.
      priority = floorClass
      enterPendingRequest(now: now)
    case .pendingGranted:
      keptPress = floorClass
    case .hasPermission, .pendingRequest, .queued: break
    }
  }

  /// The button is released.
  package mutating func release(now: Instant) {
    keptPress = nil
    switch state {
    case .startStop, .silence, .noPermission, .pendingGranted: break
    case .hasPermission:
      // 7.2.3.5, PTT button released: what was said is sent to its end first.
      guard let token = burst, !isFinishing else { break }
      isFinishing = true
      effects.append(.finishTransmit(token))
    case .pendingRequest:
      // 7.2.3.6, PTT button released.
      send(.release)
      enterSilence(now: now)
    case .queued:
      // 7.2.3.8, PTT button released.
      send(.release)
      enterNoPermission(now: now)
    }
  }

  /// True while frames of our burst may leave: nothing but the state matters.
  package mutating func mayTransmit(now: Instant) -> Bool {
    state == .hasPermission && burst != nil
  }

  /// A frame left: the first one starts T206 (7.2.3.5, S: RTP media).
  package mutating func transmitted(frame: UInt32, now: Instant) {
    guard state == .hasPermission, clock.t206 == nil, clock.t207 == nil else { return }
    clock.t206 = now + timers.t206
  }

  /// The last frame left: the floor goes to the next or is released (7.2.3.5, PTT button released).
  package mutating func transmitFinished(lastFrame: UInt32, now: Instant) {
    guard state == .hasPermission, isFinishing else { return }
    endBurst(.released)
    passOn(now: now)
  }

  /// The user wants to know the place in the queue (7.2.3.8, S: Floor Queue Position Request).
  package mutating func askForPlace(now: Instant) {
    guard state == .queued else { return }
    c204.reset()
    clock.t204 = now + timers.t204
    send(.queuePositionRequest)
  }
}
