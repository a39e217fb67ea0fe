import TalkCore
import TalkFloor
import TalkSim
import TalkWire

/// One way to break the floor, for the checkers to catch.
enum Breakage: String, CaseIterable {
  case playsEveryFrame
  case playsWhatIsOver
  case deafToRivals
  case grantsItself
  case ignoresRelease
  case talksAfterCancel
  case forgetsTurns
  case thirdHandRenewsLease
  case talksToNobody
  case believesForgedGrants
  case endsFloorsThatFade
  case dropsFirstRequest
  case neverAnswers
  case swallowsDenies
  case ignoresHeartbeats
  case ignoresOneMember
  case skipsFrames
  case floods
}

/// A breakage as a type, so that each makes a party type of its own.
protocol Broken {
  static var breakage: Breakage { get }
}

/// The shipped machine, misbehaving in one way.
struct BrokenMachine<Kind: Broken>: FloorParty {
  private var inner: FloorMachine
  private var extra: [PartyEffect<FloorMessage>] = []
  private let me: PeerID
  private let scapegoat: PeerID?
  private var keyDown = false
  private var talks = false
  /// A burst that nobody granted.
  private var own: Token?
  private var ownTurn: UInt64 = 0
  private var lastTalker: TokenID?
  private var firstTurn: UInt64?
  private var frames = 0

  private var kind: Breakage { Kind.breakage }

  init(_ setup: PartySetup) {
    me = setup.identity.publicIdentity.peerID
    scapegoat = (setup.members.map(\.peer) + [me]).min()
    inner = FloorMachine(setup)
    ownTurn = setup.reservedTurn + 5_000
  }

  private mutating func startOwn() {
    guard own == nil, !talks else { return }
    ownTurn += 1
    let token = Token(
      id: TokenID(turn: ownTurn, holder: me, seat: 0), floorClass: .normal)
    own = token
    extra.append(.startTransmit(token))
  }

  mutating func press(_ floorClass: FloorClass, now: Instant) {
    keyDown = true
    if kind == .grantsItself { startOwn() } else { inner.press(floorClass, now: now) }
  }

  mutating func release(now: Instant) {
    keyDown = false
    if let token = own {
      own = nil
      extra.append(.stopTransmit(token, .released))
      if kind == .grantsItself { return }
    }
    if kind == .ignoresRelease, talks { return }
    if kind == .talksAfterCancel, !talks { return }
    inner.release(now: now)
  }

  mutating func receive(_ message: FloorMessage, from sender: PeerID, now: Instant) {
    switch (kind, message) {
    case (.deafToRivals, .taken) where talks: return
    case (.deafToRivals, .heartbeat) where talks: return
    case (.deafToRivals, .stale) where talks: return
    case (.deafToRivals, .release) where talks: return
    case (.ignoresHeartbeats, .heartbeat), (.ignoresHeartbeats, .taken): return
    case (.ignoresOneMember, .request(let request)) where request.requester == scapegoat: return
    case (.thirdHandRenewsLease, _): inner.loopWasLate(by: .milliseconds(200))
    default: break
    }
    inner.receive(message, from: sender, now: now)
    if kind == .believesForgedGrants, case .grant(let chain, _) = message,
      let newest = chain.last?.to, newest.id.holder != me
    {
      extra.append(.talker(newest))
    }
  }

  mutating func hears(_ voice: VoiceMark, from sender: PeerID, now: Instant) -> TokenID? {
    let id = TokenID(turn: voice.turn, holder: sender, seat: voice.seat)
    if kind == .deafToRivals, talks { return nil }
    let heard = inner.hears(voice, from: sender, now: now)
    switch kind {
    case .playsEveryFrame: return id
    case .playsWhatIsOver:
      if heard != nil { lastTalker = heard }
      return heard ?? (lastTalker == id ? id : nil)
    case .skipsFrames:
      frames += 1
      return frames % 50 == 0 ? nil : heard
    default: return heard
    }
  }

  mutating func mayTransmit(now: Instant) -> Bool { own != nil || inner.mayTransmit(now: now) }

  mutating func transmitted(frame: UInt32, now: Instant) {
    if own == nil { inner.transmitted(frame: frame, now: now) }
  }

  mutating func transmitFinished(lastFrame: UInt32, now: Instant) {
    inner.transmitFinished(lastFrame: lastFrame, now: now)
  }

  mutating func wake(now: Instant) { inner.wake(now: now) }
  var deadline: Instant? { inner.deadline }

  mutating func nextEffect() -> PartyEffect<FloorMessage>? {
    while true {
      guard let effect = inner.nextEffect() else {
        return extra.isEmpty ? nil : extra.removeFirst()
      }
      if let kept = altered(effect) { return kept }
    }
  }

  /// What becomes of an effect; nil swallows it.
  private mutating func altered(
    _ effect: PartyEffect<FloorMessage>
  ) -> PartyEffect<FloorMessage>? {
    switch effect {
    case .startTransmit(let token):
      talks = true
      guard kind == .forgetsTurns else { return effect }
      var old = token
      old.id.turn = firstTurn ?? token.id.turn
      firstTurn = old.id.turn
      return .startTransmit(old)
    case .stopTransmit: talks = false
    case .unheard where kind == .talksToNobody: startOwn()
    case .denied where kind == .swallowsDenies, .unheard where kind == .swallowsDenies: return nil
    case .talkerDone(_, .max) where kind == .endsFloorsThatFade && keyDown: startOwn()
    case .send(let message, let audience): return altered(message, audience)
    default: break
    }
    return effect
  }

  private mutating func altered(
    _ message: FloorMessage, _ audience: FloorAudience
  ) -> PartyEffect<FloorMessage>? {
    let effect = PartyEffect.send(message, to: audience)
    switch message {
    case .request(let request) where request.spread == .direct:
      if kind == .dropsFirstRequest { return nil }
      if kind == .floods {
        extra += Array(repeating: .send(message, to: .everyone), count: 40)
      }
    case .vacant, .none, .unreached, .alive: if kind == .neverAnswers { return nil }
    default: break
    }
    return effect
  }

  mutating func setPresent(_ peer: PeerID, _ present: Bool, now: Instant) {
    inner.setPresent(peer, present, now: now)
  }

  mutating func memberHearsUs(now: Instant) { inner.memberHearsUs(now: now) }
  mutating func loopWasLate(by lateness: Duration) { inner.loopWasLate(by: lateness) }
  mutating func turnsReserved(through turn: UInt64) { inner.turnsReserved(through: turn) }
  mutating func reserveFailed() { inner.reserveFailed() }
  mutating func leave(now: Instant) { inner.leave(now: now) }
  var view: PartyView { inner.view }

  static func kind(of message: FloorMessage) -> ControlKind { FloorMachine.kind(of: message) }
  static func note(of message: FloorMessage) -> ControlNote { FloorMachine.note(of: message) }
  static func lie(_ lie: Lie) -> FloorMessage? { FloorMachine.lie(lie) }
  static func describe(_ message: FloorMessage, name: (PeerID) -> String) -> String {
    FloorMachine.describe(message, name: name)
  }
}
