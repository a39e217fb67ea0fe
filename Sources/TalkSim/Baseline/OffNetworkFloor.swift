package import TalkCore
import TalkFloor
import TalkWire

/// The baseline: off-network floor control of 3GPP TS 24.380 clause 7 (MCPTT without a server), to
/// be measured beside our own floor on the same network with the same presses.
///
/// How to drive it: as every `FloorParty`. One machine is one floor participant, which is also the
/// floor arbitrator while it has permission (clause 7.1). The states are those of clause 7.2.3 and
/// table C.2.1-1 of annex C; each transition names its clause. Where things are: the key in `+Key`,
/// messages and media in `+Receive`, timers in `+Expiry`, the tie to the simulator in `+Party`.
///
/// The baseline must not be a straw man. Where the specification leaves room, or where NIST's
/// public model of it (usnistgov/psc-ns3) had to choose, this machine takes what serves it best:
/// - queueing is on for everybody, 16 places, and a granted client takes over the whole queue;
/// - a queued client that is granted the floor accepts at once, without asking its user (T233);
/// - a queued client that asks again is told its place once more;
/// - C201 counts the first Floor Request, so that a silent floor is taken after 120 ms and not 160;
/// - Floor Taken is obeyed in 'O: has no permission' too, so that a lost Floor Release does not
///   bind a listener to the old talker for T203;
/// - a listener told of a grant to another lets a late packet of the old talker change nothing, and
///   the client that granted waits for media of the client it granted to, not for anybody's;
/// - a queued client follows the floor to the client that was granted it;
/// - a press while the floor is being passed on is kept until the next state, not lost;
/// - T203 runs in every state in which a talker is known, so that none waits for ever.
package struct OffNetworkFloor {
  /// The states of clause 7.2.3.
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// No floor control session (7.2.3.2).
    case startStop = "Start-stop"
    /// Nobody is known to arbitrate (7.2.3.3).
    case silence = "O: silence"
    /// Somebody else talks (7.2.3.4).
    case noPermission = "O: has no permission"
    /// We talk and arbitrate (7.2.3.5).
    case hasPermission = "O: has permission"
    /// Our Floor Request is out (7.2.3.6).
    case pendingRequest = "O: pending request"
    /// We granted, and wait for the new talker's media (7.2.3.7).
    case pendingGranted = "O: pending granted"
    /// We wait in the arbitrator's queue (7.2.3.8).
    case queued = "O: queued"
  }

  /// Which state.
  package internal(set) var state = State.startStop
  /// The stored SSRC of the current arbitrator, with its user.
  package internal(set) var current: OffNetworkClient?
  /// The stored SSRC of the candidate arbitrator, with its user.
  package internal(set) var candidate: OffNetworkClient?
  /// Who waits with us as arbitrator, next one first.
  package internal(set) var queue: [OffNetworkWaiting] = []
  /// This client.
  package let client: OffNetworkClient

  let timers: OffNetworkTimers
  var clock = OffNetworkClock()
  var c201: OffNetworkCounter
  var c204: OffNetworkCounter
  var c205: OffNetworkCounter
  /// The priority of our request or burst.
  var priority = FloorClass.normal
  /// A press that came while the floor was being passed on.
  var keptPress: FloorClass?
  /// True from the key's release to the burst's last frame.
  var isFinishing = false
  /// The last Floor Granted of ours, for its repeats.
  var lastGranted: OffNetworkMessage.Content?
  /// The next burst's number, for the simulator's books; nothing in the protocol has it.
  var nextBurst: UInt64
  /// Our own burst.
  var burst: Token?
  /// Whose media is rendered, under which token.
  var rendered: Token?
  /// What is to be done, in order.
  var effects = BoundedQueue<PartyEffect<OffNetworkMessage>>(limit: 64)

  /// A participant outside of any session. Bursts are numbered from `firstBurst`.
  package init(user: PeerID, timers: OffNetworkTimers, firstBurst: UInt64 = 1) {
    client = OffNetworkClient(user)
    self.timers = timers
    c201 = OffNetworkCounter(limit: timers.c201)
    c204 = OffNetworkCounter(limit: timers.c204)
    c205 = OffNetworkCounter(limit: timers.c205)
    nextBurst = firstBurst
  }

  // MARK: 7.2.3.2 'Start-stop'

  /// The call is set up: its originator has permission at once and says so, every other
  /// participant of a group call is in silence (7.2.3.2).
  package mutating func establish(originating: Bool, now: Instant) {
    guard state == .startStop else { return }
    guard originating else {
      enterSilence(now: now)
      return
    }
    send(.granted(to: client, priority, queue: []))
    enterHasPermission(now: now)
  }

  /// The call is released, in any state (table C.2.1-1).
  package mutating func releaseCall() {
    endBurst(.lost)
    stopRendering()
    clock = OffNetworkClock()
    current = nil
    candidate = nil
    queue = []
    keptPress = nil
    state = .startStop
  }

  // MARK: Entering states

  mutating func enterSilence(now: Instant) {
    stopRendering()
    current = nil
    candidate = nil
    clock = OffNetworkClock()
    clock.t230 = now + timers.t230
    state = .silence
    resumeKeptPress(now: now)
  }

  /// `talker` arbitrates; nil keeps whoever is known.
  mutating func enterNoPermission(_ talker: OffNetworkClient? = nil, now: Instant) {
    if let talker { setCurrent(talker) }
    clock = OffNetworkClock()
    clock.t203 = now + timers.t203
    state = .noPermission
    resumeKeptPress(now: now)
  }

  mutating func enterHasPermission(now: Instant) {
    stopRendering()
    current = client
    candidate = nil
    clock = OffNetworkClock()
    state = .hasPermission
    isFinishing = false
    let token = Token(
      id: TokenID(turn: nextBurst, holder: client.user, seat: 0), floorClass: priority)
    nextBurst += 1
    burst = token
    effects.append(.startTransmit(token))
  }

  /// Asks for the floor: C201 and T201 start anew (7.2.3.3, 7.2.3.4, 7.2.3.8).
  mutating func enterPendingRequest(now: Instant) {
    let t203 = clock.t203
    clock = OffNetworkClock()
    clock.t203 = t203
    c201.reset()
    clock.t201 = now + timers.t201
    send(.request(priority))
    state = .pendingRequest
  }

  /// Gives the floor to `next` with what is left of the queue (7.2.3.5, 7.2.3.7).
  mutating func enterPendingGranted(
    _ next: OffNetworkClient, _ floorClass: FloorClass, now: Instant
  ) {
    current = next
    let content = OffNetworkMessage.Content.granted(to: next, floorClass, queue: queue)
    lastGranted = content
    clock = OffNetworkClock()
    c205.reset()
    clock.t205 = now + timers.t205
    send(content)
    state = .pendingGranted
  }

  /// Grants the next in the queue, or lets go of the floor (7.2.3.5, 7.2.3.7).
  mutating func passOn(now: Instant) {
    if queue.isEmpty {
      send(.release)
      enterSilence(now: now)
    } else {
      let next = queue.removeFirst()
      enterPendingGranted(next.client, next.priority, now: now)
    }
  }

  // MARK: Small parts

  mutating func send(_ content: OffNetworkMessage.Content) {
    effects.append(.send(OffNetworkMessage(sender: client, content), to: .everyone))
  }

  mutating func setCurrent(_ talker: OffNetworkClient) {
    if let rendered, rendered.id.holder != talker.user { stopRendering() }
    current = talker
    candidate = nil
  }

  mutating func stopRendering() {
    guard let token = rendered else { return }
    rendered = nil
    effects.append(.talkerDone(token, lastFrame: .max))
  }

  mutating func endBurst(_ reason: StopReason) {
    guard let token = burst else { return }
    burst = nil
    isFinishing = false
    effects.append(.stopTransmit(token, reason))
  }

  private mutating func resumeKeptPress(now: Instant) {
    guard let floorClass = keptPress else { return }
    keptPress = nil
    press(floorClass, now: now)
  }
}
