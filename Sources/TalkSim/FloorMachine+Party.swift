package import TalkCore
import TalkCrypto
package import TalkFloor
package import TalkWire

/// The shipped machine as a party: every call passes straight through.
extension FloorMachine: FloorParty {
  /// Starts as a node's channel does: members from the roster, turns from the disk.
  package init(_ setup: PartySetup) {
    self.init(
      identity: setup.identity, channel: setup.channel, timers: setup.timers,
      reservedTurn: setup.reservedTurn, firstRequest: setup.firstRequest, strict: setup.isStrict,
      now: setup.now)
    setMember(setup.identity.publicIdentity.peerID, setup.rights)
    for member in setup.members { setMember(member.peer, member.rights) }
    if setup.isFirstKeeper { becomeFirstKeeper(now: setup.now) }
  }

  /// Presses the node's own key.
  package mutating func press(_ floorClass: FloorClass, now: Instant) {
    press(seat: 0, floorClass: floorClass, now: now)
  }

  /// Judges a marked frame as `hears(turn:seat:floorClass:from:now:)` does.
  package mutating func hears(_ voice: VoiceMark, from sender: PeerID, now: Instant) -> TokenID? {
    hears(
      turn: voice.turn, seat: voice.seat, floorClass: voice.floorClass, from: sender, now: now
    )?.id
  }

  /// The next of the machine's effects.
  package mutating func nextEffect() -> PartyEffect<FloorMessage>? {
    guard let effect = effects.popFirst() else { return nil }
    return switch effect {
    case .send(let message, let audience): .send(message, to: audience)
    case .startTransmit(let token): .startTransmit(token)
    case .renumberTransmit(let token): .renumberTransmit(token)
    case .stopTransmit(let token, let reason): .stopTransmit(token, reason)
    case .finishTransmit(let token): .finishTransmit(token)
    case .limitWarning: .limitWarning
    case .talkerRenumbered(let old, let token): .talkerRenumbered(old, to: token)
    case .talker(let token): .talker(token)
    case .talkerDone(let token, let lastFrame): .talkerDone(token, lastFrame: lastFrame)
    case .talkerCut(let token): .talkerCut(token)
    case .queued(let place): .queued(place: place)
    case .denied(let reason): .denied(reason)
    case .unheard(let reason): .unheard(reason)
    case .reserveTurns(let through): .reserveTurns(through: through)
    }
  }

  /// What the machine's snapshot says.
  package var view: PartyView {
    let snapshot = snapshot
    let kept = snapshot.keeper.map {
      Token(
        id: TokenID(turn: snapshot.latestTurn, holder: $0, seat: 0), floorClass: .normal)
    }
    return PartyView(
      token: snapshot.token ?? kept, isTalking: snapshot.token != nil,
      isAsking: snapshot.state == .requested || snapshot.state == .queued)
  }

  /// By the message's case.
  package static func kind(of message: FloorMessage) -> ControlKind {
    switch message {
    case .request: .request
    case .grant: .grant
    case .taken: .taken
    case .deny: .deny
    case .queue: .queue
    case .release: .release
    case .cancel: .cancel
    case .heartbeat: .heartbeat
    case .vacant, .alive, .none, .unreached, .stale, .fence: .answer
    }
  }

  /// The message's name and the tokens and requests in it.
  package static func describe(_ message: FloorMessage, name: (PeerID) -> String) -> String {
    func of(_ token: Token) -> String {
      let mark = token.floorClass == .normal ? "" : "!\(token.floorClass.rawValue)"
      return "\(token.id.turn)/\(name(token.id.holder))\(mark)"
    }
    func list(_ queue: [QueueEntry]) -> String {
      queue.isEmpty ? "" : " queue " + queue.map { name($0.peer) }.joined(separator: ",")
    }
    func path(_ chain: [Grant]) -> String {
      guard let first = chain.first else { return "" }
      return " chain " + ([first.from] + chain.map(\.to)).map(of).joined(separator: "→")
    }
    return switch message {
    case .request(let request):
      "request \(request.request & 0xffff) of \(name(request.requester)) \(request.floorClass) "
        + "\(request.spread)"
    case .grant(let chain, let queue):
      "grant \(chain.last.map { String($0.request & 0xffff) } ?? "")\(path(chain))\(list(queue))"
    case .taken(let token, let talking, let chain, let queue):
      "taken \(of(token)) \(talking ? "talking" : "idle")\(path(chain))\(list(queue))"
    case .deny(let request, _, let reason): "deny \(request & 0xffff) \(reason)"
    case .queue(let asking, let token, let entries):
      asking ? "queue? \(of(token))" : "queue \(of(token))\(list(entries))"
    case .release(let token, let lastFrame): "release \(of(token)) after frame \(lastFrame)"
    case .heartbeat(let token, let talking, _, _):
      "heartbeat \(of(token)) \(talking ? "talking" : "idle")"
    case .cancel(let request, let requester, _):
      "cancel \(request & 0xffff) of \(name(requester))"
    case .vacant(let request, let turn, let token):
      "vacant \(request & 0xffff) highest \(turn) \(token.map(of) ?? "no token")"
    case .alive(let request, let token, let age):
      "alive \(request & 0xffff) \(of(token)) age \(age) ms"
    case .none(let request, let turn): "none \(request & 0xffff) highest \(turn)"
    case .unreached(let request, let turn): "unreached \(request & 0xffff) highest \(turn)"
    case .stale(let token, let idle, let age, let turn):
      "stale \(of(token)) \(idle ? "idle" : "busy") age \(age) ms highest \(turn)"
    case .fence(let token): "fence \(of(token))"
    }
  }
}
