import TalkCore
import TalkWire

/// Members between an asker and a holder who have no session with each other: they pass the request
/// on, and carry back whatever the holder says of it.
extension FloorMachine {
  /// A request that we passed on.
  struct Forward {
    var request: UInt64
    var requester: PeerID
    /// The repeat that was passed on last; each goes once.
    var attempt: UInt16
    /// Until when the answer is waited for.
    var until: Instant
    /// True once the holder has put it into its queue: then we stay between the two.
    var waits = false
  }

  /// The most requests that one member passes on at a time.
  static let forwardLimit = 32

  /// Passes a request on, each repeat once; if no answer comes back in time the asker is told.
  mutating func forward(_ request: FloorRequest, to keeper: PeerID, now: Instant) {
    guard request.spread == .everyone else { return }
    if let index = forwards.firstIndex(where: { $0.isOf(request) }) {
      guard forwards[index].attempt != request.attempt else { return }
      forwards[index].attempt = request.attempt
      forwards[index].until =
        now + (forwards[index].waits ? timers.forwardMemory : timers.forwardWait)
    } else {
      guard forwards.count < Self.forwardLimit else { return }
      forwards.append(
        Forward(
          request: request.request, requester: request.requester, attempt: request.attempt,
          until: now + timers.forwardWait))
    }
    var passed = request
    passed.spread = .forwarded
    emit(.send(.request(passed), to: .peer(keeper)))
  }

  /// Tells askers whose forwarded request nobody answered.
  mutating func wakeForwards(now: Instant) {
    let late = forwards.filter { $0.until <= now }
    forwards.removeAll { $0.until <= now }
    for forward in late where !forward.waits {
      guard let record, !record.talking else { continue }
      emit(
        .send(
          .unreached(request: forward.request, highestTurn: highestHeard),
          to: .peer(forward.requester)))
    }
  }

  /// Carries a grant back to the asker whose request we passed on.
  mutating func passOnGrant(
    _ chain: [Grant], _ entries: [QueueEntry], _ newest: Grant, from sender: PeerID
  ) {
    guard let index = forwards.firstIndex(where: { $0.request == newest.request }),
      newest.to.id.holder == forwards[index].requester
    else { return }
    let requester = forwards.remove(at: index).requester
    guard requester != sender else { return }
    emit(.send(.grant(chain: chain, queue: entries), to: .peer(requester)))
  }

  /// Carries the queue back to the askers in it whose requests we passed on.
  mutating func passOnQueue(_ entries: [QueueEntry], of token: Token, now: Instant) {
    guard let record, record.token.id == token.id else { return }
    for index in forwards.indices {
      let forward = forwards[index]
      guard
        entries.contains(where: { $0.request == forward.request && $0.peer == forward.requester })
      else { continue }
      forwards[index].waits = true
      forwards[index].until = now + timers.forwardMemory
      emit(
        .send(
          .taken(token: token, talking: record.talking, chain: record.chain, queue: entries),
          to: .peer(forward.requester)))
    }
  }

  /// A request came by another member since its asker has no session with us: its grant will go the
  /// same way.
  mutating func noteRoute(of request: FloorRequest) {
    routes.removeAll { queue.place(of: $0.peer, seat: $0.seat) == nil }
    let speaker = Speaker(peer: request.requester, seat: request.seat)
    guard request.spread == .forwarded, !routes.contains(speaker) else { return }
    routes.append(speaker)
  }

  /// True for a waiting talker who reached us through other members.
  func isReachedByOthers(_ entry: QueueEntry) -> Bool {
    routes.contains(Speaker(peer: entry.peer, seat: entry.seat))
  }

  /// The holder is silent here: whoever waits for it through us hears that it may claim.
  mutating func tellForwardedOfLapse() {
    guard let record else { return }
    for forward in forwards where forward.waits {
      emit(
        .send(
          .vacant(request: forward.request, highestTurn: highestHeard, token: record.token),
          to: .peer(forward.requester)))
    }
  }

  /// Carries a refusal back to the asker whose request we passed on.
  mutating func passOnDeny(_ request: UInt64, seat: UInt16, _ reason: DenyReason) {
    guard let index = forwards.firstIndex(where: { $0.request == request }) else { return }
    let requester = forwards.remove(at: index).requester
    emit(.send(.deny(request: request, seat: seat, reason: reason), to: .peer(requester)))
  }
}

extension FloorMachine.Forward {
  /// True when it passed on this request, whichever repeat.
  func isOf(_ other: FloorRequest) -> Bool {
    request == other.request && requester == other.requester
  }
}
