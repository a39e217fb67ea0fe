package import TalkCore
import TalkCrypto
import TalkFloor
package import TalkWire

/// The baseline as a party of the simulated world.
extension OffNetworkFloor: FloorParty {
  /// A participant of a call that is set up: nobody talks yet. After a crash a client knows nothing
  /// and joins the call again.
  package init(_ setup: PartySetup) {
    self.init(
      user: setup.identity.publicIdentity.peerID, timers: OffNetworkTimers(),
      firstBurst: setup.firstRequest + 1)
    establish(originating: false, now: setup.now)
  }

  /// A message came; its sender is who it says.
  package mutating func receive(_ message: OffNetworkMessage, from sender: PeerID, now: Instant) {
    guard message.sender.user == sender else { return }
    receive(message, now: now)
  }

  /// A frame came: its sender decides, by SSRC; the turn is only the simulator's name for it.
  package mutating func hears(_ voice: VoiceMark, from sender: PeerID, now: Instant) -> TokenID? {
    guard receiveMedia(from: OffNetworkClient(sender), now: now) else { return nil }
    let token = Token(
      id: TokenID(turn: voice.turn, holder: sender, seat: voice.seat),
      floorClass: voice.floorClass)
    if rendered != token {
      stopRendering()
      rendered = token
      effects.append(.talker(token))
    }
    return token.id
  }

  /// The next thing to be done.
  package mutating func nextEffect() -> PartyEffect<OffNetworkMessage>? { effects.popFirst() }

  /// Off the network nobody keeps a list of who is there.
  package mutating func setPresent(_ peer: PeerID, _ present: Bool, now: Instant) {}
  /// Nor of who hears whom: a client talks whether anybody hears it or not.
  package mutating func memberHearsUs(now: Instant) {}
  /// Timers know nothing of a late loop.
  package mutating func loopWasLate(by lateness: Duration) {}
  /// No number of the baseline is kept on disk.
  package mutating func turnsReserved(through turn: UInt64) {}
  /// As above.
  package mutating func reserveFailed() {}

  /// Leaving the call says nothing: a talker's floor is released first, as when the button is.
  package mutating func leave(now: Instant) {
    if state == .hasPermission {
      endBurst(.released)
      passOn(now: now)
    } else {
      release(now: now)
    }
    releaseCall()
  }

  /// How the floor stands here.
  package var view: PartyView {
    PartyView(
      token: burst ?? rendered, isTalking: burst != nil || rendered != nil,
      isAsking: state == .pendingRequest || state == .queued)
  }

  /// By the message's content.
  package static func kind(of message: OffNetworkMessage) -> ControlKind {
    switch message.content {
    case .request: .request
    case .granted: .grant
    case .taken: .taken
    case .deny: .deny
    case .release: .release
    case .queuePositionRequest, .queuePositionInfo: .queue
    case .idle, .revoke, .ack: .answer
    }
  }

  /// The message in a few words.
  package static func describe(
    _ message: OffNetworkMessage, name: (PeerID) -> String
  ) -> String {
    switch message.content {
    case .request(let floorClass): "Floor Request \(floorClass)"
    case .granted(let to, _, let queue):
      "Floor Granted to \(name(to.user))"
        + (queue.isEmpty
          ? "" : " queue " + queue.map { name($0.client.user) }.joined(separator: ","))
    case .taken: "Floor Taken"
    case .deny(let to, let cause): "Floor Deny to \(name(to)) cause \(cause.rawValue)"
    case .release: "Floor Release"
    case .idle: "Floor Idle"
    case .revoke(let cause): "Floor Revoke cause \(cause.rawValue)"
    case .queuePositionRequest: "Floor Queue Position Request"
    case .queuePositionInfo(let to, let place):
      "Floor Queue Position Info to \(name(to)) place \(place)"
    case .ack: "Floor Ack"
    }
  }
}
