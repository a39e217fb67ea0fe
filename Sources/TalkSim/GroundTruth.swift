import TalkCore
package import TalkFloor
package import TalkWire

/// What holds of a run from the start: the checkers decide by it whether they apply.
package struct RunConditions: Sendable {
  /// The mix.
  package var mix: FaultMix
  /// How many nodes there are.
  package var count: Int
  /// The timers of the floor.
  package var timers: FloorTimers
  /// What the roster allows each node.
  package var rights: [FloorMember]
  /// Which nodes lie.
  package var liars: [Bool]
  /// Finds a node by its peer id.
  package var index: PeerIndex

  /// True when nothing is lost, cut, dead or lying.
  package var isFaultless: Bool {
    mix.isLossless && mix.hasNoNodeFaults && mix.liars == 0 && mix.lostEdges == 0
  }

  /// The number of a token's holder; -1 for a stranger.
  package func holder(_ token: TokenID) -> Int { index[token.holder] ?? -1 }
}

/// The state of the mesh as one who sees everything knows it, kept up from the observations, so
/// that each checker need not keep the same.
struct GroundTruth: Sendable {
  /// A burst on its way.
  struct Burst: Sendable {
    /// Its token now.
    var token: Token
    /// Which of the node's bursts.
    var number: UInt32
    /// Since when.
    var since: Instant
    /// The number of the last frame sent.
    var frames: UInt32 = 0
    /// When that was.
    var lastFrame: Instant
  }

  /// One node.
  struct Node: Sendable {
    /// True while it runs.
    var isAlive = true
    /// True while its loop stands still.
    var isPaused = false
    /// When its loop last began to stand still.
    var pausedAt = Instant.zero
    /// When its loop last went on.
    var resumedAt = Instant.zero
    /// True while the person presses.
    var personDown = false
    /// When the person last let go.
    var personUpAt = Instant.zero
    /// True while the node takes the key for pressed.
    var keyDown = false
    /// When the node last took the key for released.
    var keyUpAt = Instant.zero
    /// The burst that it sends.
    var burst: Burst?
    /// How many bursts it has begun.
    var bursts: UInt32 = 0
    /// Whom it hears; nil when it knows of no talker.
    var talker: Token?
    /// Whom it heard last, and until when.
    var lastTalker: (token: Token, until: Instant)?
    /// When it last had something first-hand of the talker, or learnt of it.
    var firstHand = Instant.zero
    /// True while its press waits for an answer or a turn.
    var isAsking = false
    /// True while it was told a place in the queue.
    var isQueued = false
    /// When any datagram last came.
    var lastReceived = Instant.zero
    /// True while turns that it wants are not on its disk.
    var awaitsDisk = false
    /// The grant that last came for it, and the request that it answers.
    var grant: (token: TokenID, request: UInt64)?
  }

  /// The nodes by their numbers.
  var nodes: [Node]
  /// How many ways are cut.
  var cuts = 0
  /// When anything last changed that the floor must follow: a press, a start, a fault.
  var lastChange = Instant.zero
  /// How many nodes talk.
  var talking = 0
  /// When the last burst ended.
  var silentSince = Instant.zero
  /// True once workload and faults are over.
  var isDraining = false
  /// Who listens to whom: nothing is known of others.
  let index: PeerIndex

  /// A mesh in which nothing has happened.
  init(_ conditions: RunConditions) {
    nodes = Array(repeating: Node(), count: conditions.count)
    index = conditions.index
  }

  /// Follows an observation; called after the checkers have seen it.
  mutating func follow(_ seen: Observation) {
    let (at, node) = (seen.at, seen.node)
    switch seen.what {
    case .heard(_, _, let rendered):
      nodes[node].lastReceived = at
      if rendered != nil { nodes[node].firstHand = at }
    case .frameSent(_, let frame, _, _):
      nodes[node].burst?.frames = frame
      nodes[node].burst?.lastFrame = at
    case .received(let note, let from): follow(note, from, at, node)
    case .presence: nodes[node].lastReceived = at
    case .talker(let token):
      nodes[node].talker = token
      nodes[node].firstHand = at
    case .talkerRenumbered(_, let token):
      nodes[node].talker = token
      nodes[node].firstHand = at
    case .talkerDone(let token, _), .talkerCut(let token): endTalker(token, at, node)
    case .excused(let late): nodes[node].firstHand += late
    case .reserving: nodes[node].awaitsDisk = true
    case .reserved: nodes[node].awaitsDisk = false
    case .sent, .limitWarning, .view, .finishing: break
    case .lied: lastChange = at
    default:
      lastChange = at
      followNode(seen.what, at, node)
    }
  }

  private mutating func follow(_ note: ControlNote, _ from: Int, _ at: Instant, _ node: Int) {
    nodes[node].lastReceived = at
    if let to = note.grantTo, index[to.id.holder] == node {
      nodes[node].grant = (to.id, note.request)
    }
    guard note.kind == .heartbeat || note.kind == .taken, note.talking, let token = note.token,
      token.id == nodes[node].talker?.id, index[token.id.holder] == from
    else { return }
    nodes[node].firstHand = at
  }

  private mutating func endTalker(_ token: Token, _ at: Instant, _ node: Int) {
    guard nodes[node].talker?.id == token.id else { return }
    nodes[node].lastTalker = (token, at)
    nodes[node].talker = nil
  }

  private mutating func followNode(_ what: Observation.What, _ at: Instant, _ node: Int) {
    switch what {
    case .keyDown: nodes[node].personDown = true
    case .keyUp:
      nodes[node].personDown = false
      nodes[node].personUpAt = at
    case .pressed:
      nodes[node].keyDown = true
      nodes[node].isAsking = true
    case .released:
      nodes[node].keyDown = false
      nodes[node].keyUpAt = at
      (nodes[node].isAsking, nodes[node].isQueued) = (false, false)
    case .queued: nodes[node].isQueued = true
    case .denied, .unheard: (nodes[node].isAsking, nodes[node].isQueued) = (false, false)
    case .started(let token):
      if nodes[node].burst == nil { talking += 1 }
      nodes[node].bursts += 1
      nodes[node].burst = Burst(
        token: token, number: nodes[node].bursts, since: at, lastFrame: at)
      (nodes[node].isAsking, nodes[node].isQueued) = (false, false)
      if let talker = nodes[node].talker { endTalker(talker, at, node) }
    case .renumbered(_, let token): nodes[node].burst?.token = token
    case .stopped(_, let reason):
      endBurst(at, node)
      let waits = reason == .preempted || reason == .lost
      nodes[node].isAsking = waits && nodes[node].keyDown
    case .crashed:
      endBurst(at, node)
      var fresh = Node()
      (fresh.isAlive, fresh.bursts, fresh.personUpAt) = (false, nodes[node].bursts, at)
      nodes[node] = fresh
    case .restarted: nodes[node].isAlive = true
    case .stalled:
      nodes[node].isPaused = true
      nodes[node].pausedAt = at
    case .resumed:
      nodes[node].isPaused = false
      nodes[node].resumedAt = at
      nodes[node].firstHand = at
    case .linkDown: cuts += 1
    case .linkUp: cuts -= 1
    case .draining: isDraining = true
    default: break
    }
  }

  private mutating func endBurst(_ at: Instant, _ node: Int) {
    guard nodes[node].burst != nil else { return }
    nodes[node].burst = nil
    talking -= 1
    silentSince = at
  }
}
