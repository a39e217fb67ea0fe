package import TalkCore
import TalkFloor
import TalkWire

/// Messages and media of others. What has no procedure in a state is discarded (7.2.3.1).
extension OffNetworkFloor {
  /// A floor control message came.
  package mutating func receive(_ message: OffNetworkMessage, now: Instant) {
    let sender = message.sender
    guard sender.user != client.user else { return }
    switch message.content {
    case .request(let floorClass): receiveRequest(floorClass, from: sender, now: now)
    case .granted(let to, _, let queue):
      if to.user == client.user {
        receiveGrantedToMe(queue, from: sender, now: now)
      } else {
        receiveGranted(to: to, from: sender, now: now)
      }
    case .taken: receiveTaken(from: sender, now: now)
    case .deny(let to, let cause):
      if to == client.user { receiveDeny(cause, from: sender, now: now) }
    case .release: receiveRelease(from: sender, now: now)
    case .queuePositionRequest: receivePositionRequest(from: sender)
    case .queuePositionInfo(let to, let place):
      if to == client.user { receivePositionInfo(place, from: sender, now: now) }
    case .idle, .revoke, .ack: break
    }
  }

  /// True when `sender` is the stored arbitrator, or the stored candidate, or none is stored; a
  /// client waiting for an answer takes it from nobody else (7.2.3.6, 7.2.3.8).
  private func mayArbitrate(_ sender: OffNetworkClient) -> Bool {
    sender == current || sender == candidate || (current == nil && candidate == nil)
  }

  // MARK: Floor Request

  private mutating func receiveRequest(
    _ floorClass: FloorClass, from sender: OffNetworkClient, now: Instant
  ) {
    switch state {
    case .hasPermission: arbitrate(floorClass, from: sender, now: now)
    case .pendingRequest:
      // 7.2.3.6, glare: the higher priority goes first, at equal ones the larger SSRC.
      guard (floorClass, sender.ssrc) > (priority, client.ssrc) else { return }
      c201.reset()
      clock.t201 = now + timers.t201
    case .pendingGranted:
      // 7.2.3.7: whoever was granted the floor learns it from the next Floor Granted.
      guard sender != current else { return }
      send(.deny(to: sender.user, .anotherHasPermission))
    case .startStop, .silence, .noPermission, .queued: break
    }
  }

  /// 7.2.3.5, R: Floor Request: pre-empted by a higher priority, else the asker is queued.
  private mutating func arbitrate(
    _ floorClass: FloorClass, from sender: OffNetworkClient, now: Instant
  ) {
    let waits = queue.firstIndex { $0.client == sender }
    if floorClass > priority {
      if let waits { queue.remove(at: waits) }
      endBurst(.preempted)
      enterPendingGranted(sender, floorClass, now: now)
    } else if let waits {
      send(.queuePositionInfo(to: sender.user, place: waits + 1))
    } else if queue.count >= timers.queueLimit {
      send(.deny(to: sender.user, .queueFull))
    } else {
      // Higher priorities wait first, as the arbitrator may order its queue.
      let place = queue.firstIndex { $0.priority < floorClass } ?? queue.count
      queue.insert(OffNetworkWaiting(client: sender, priority: floorClass), at: place)
      send(.queuePositionInfo(to: sender.user, place: place + 1))
    }
  }

  // MARK: Floor Granted

  private mutating func receiveGrantedToMe(
    _ waiting: [OffNetworkWaiting], from sender: OffNetworkClient, now: Instant
  ) {
    switch state {
    case .pendingRequest, .queued:
      // 7.2.3.6 and 7.2.3.8: accepted at once; the queue comes along.
      guard mayArbitrate(sender) else { return }
      queue = waiting
      enterHasPermission(now: now)
    case .startStop, .silence, .noPermission, .hasPermission, .pendingGranted: break
    }
  }

  private mutating func receiveGranted(
    to granted: OffNetworkClient, from sender: OffNetworkClient, now: Instant
  ) {
    switch state {
    case .startStop, .silence:
      // 7.2.3.2 and 7.2.3.3: the new talker is known before its media comes.
      enterNoPermission(granted, now: now)
    case .noPermission:
      // 7.2.3.4: media is no longer rendered, and the new talker is the candidate.
      guard mayArbitrate(sender), granted != current else { return }
      stopRendering()
      candidate = granted
      clock.t203 = now + timers.t203
    case .pendingRequest:
      // 7.2.3.6: the request goes on, to the new arbitrator.
      guard sender == current || current == nil else { return }
      stopRendering()
      candidate = granted
      c201.reset()
      clock.t201 = now + timers.t201
      clock.t203 = now + timers.t203
    case .queued:
      // 7.2.3.8: the queue went along to the candidate.
      guard sender == current || sender == candidate else { return }
      stopRendering()
      candidate = granted
      clock.t203 = now + timers.t203
    case .hasPermission, .pendingGranted: break
    }
  }

  // MARK: The other messages

  private mutating func receiveTaken(from sender: OffNetworkClient, now: Instant) {
    switch state {
    case .startStop, .silence, .noPermission:
      // 7.2.3.2 and 7.2.3.3; in 'O: has no permission' see the type's comment.
      enterNoPermission(sender, now: now)
    case .pendingRequest:
      // 7.2.3.6: the request goes on, to the client that took the floor.
      setCurrent(sender)
      c201.reset()
      clock.t201 = now + timers.t201
      clock.t203 = now + timers.t203
    case .hasPermission, .pendingGranted, .queued: break
    }
  }

  private mutating func receiveDeny(
    _ cause: OffNetworkRejectCause, from sender: OffNetworkClient, now: Instant
  ) {
    // 7.2.3.6 and 7.2.3.8: the user is told, and lets go of the button (7.1).
    guard state == .pendingRequest || state == .queued, mayArbitrate(sender) else { return }
    effects.append(.denied(cause.denyReason))
    enterNoPermission(sender, now: now)
  }

  private mutating func receiveRelease(from sender: OffNetworkClient, now: Instant) {
    switch state {
    case .noPermission:
      // 7.2.3.4: only the talker's, or that of the one who was to be the talker.
      guard sender == current || sender == candidate else { return }
      enterSilence(now: now)
    case .hasPermission, .pendingGranted:
      // 7.2.3.5 and 7.2.3.7: a queued client no longer wants the floor.
      queue.removeAll { $0.client == sender }
    case .startStop, .silence, .pendingRequest, .queued: break
    }
  }

  private mutating func receivePositionRequest(from sender: OffNetworkClient) {
    // 7.2.3.5, R: Floor Queue Position Request.
    guard state == .hasPermission, let place = queue.firstIndex(where: { $0.client == sender })
    else { return }
    send(.queuePositionInfo(to: sender.user, place: place + 1))
  }

  private mutating func receivePositionInfo(
    _ place: Int, from sender: OffNetworkClient, now: Instant
  ) {
    switch state {
    case .pendingRequest:
      // 7.2.3.6: the request waits in the arbitrator's queue.
      guard mayArbitrate(sender) else { return }
      setCurrent(sender)
      clock.t201 = nil
      if clock.t203 == nil { clock.t203 = now + timers.t203 }
      state = .queued
      effects.append(.queued(place: place))
    case .queued:
      // 7.2.3.8: the place changed, or was asked for.
      guard mayArbitrate(sender) else { return }
      setCurrent(sender)
      clock.t204 = nil
      effects.append(.queued(place: place))
    case .startStop, .silence, .noPermission, .hasPermission, .pendingGranted: break
    }
  }

  // MARK: RTP media

  /// A media packet came: true when it is rendered. Which SSRC sent it is all that counts: there is
  /// no number of the burst, so a packet that was overtaken by its Floor Release counts as news.
  package mutating func receiveMedia(from sender: OffNetworkClient, now: Instant) -> Bool {
    guard sender.user != client.user else { return false }
    switch state {
    case .startStop, .silence:
      // 7.2.3.2 and 7.2.3.3: somebody talks.
      enterNoPermission(sender, now: now)
      return true
    case .noPermission: return follow(sender, now: now)
    case .pendingRequest:
      // 7.2.3.6: while the arbitrator is heard the floor is not taken.
      guard follow(sender, now: now) else { return false }
      c201.reset()
      return true
    case .queued: return follow(sender, now: now)
    case .pendingGranted:
      // 7.2.3.7: the granted client talks, and arbitrates from now on.
      guard sender == current else { return false }
      queue = []
      enterNoPermission(sender, now: now)
      return true
    case .hasPermission: return false
    }
  }

  /// 7.2.3.4: media of the current talker is rendered, that of the candidate makes it the current
  /// one, any does when none is known, and all else is dropped.
  private mutating func follow(_ sender: OffNetworkClient, now: Instant) -> Bool {
    if sender == candidate || (current == nil && candidate == nil) {
      setCurrent(sender)
    } else if sender != current || candidate != nil {
      return false
    }
    clock.t203 = now + timers.t203
    return true
  }
}

extension OffNetworkRejectCause {
  /// The nearest of our own reasons.
  var denyReason: DenyReason {
    switch self {
    case .receiveOnly: .listenOnly
    case .anotherHasPermission, .internalError, .onlyOneParticipant, .retryLater, .noResources,
      .queueFull, .other:
      .queueFull
    }
  }
}
