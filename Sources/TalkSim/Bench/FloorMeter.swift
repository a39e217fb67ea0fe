package import TalkCore
import TalkFloor
import TalkWire

/// Measures a floor protocol from what one who sees everything would note, the same way whatever
/// the protocol is: nothing here looks into a machine.
package struct FloorMeter: ObservationSink, Sendable {
  /// What is known of a node.
  private struct Node {
    var isAlive = true
    var isStalled = false
    /// When the press that waits was made, and its class; nil without one.
    var pressed: Instant?
    var pressedClass = FloorClass.normal
    /// True when the floor was free for this press from the beginning to the grant.
    var foundFloorIdle = false
    /// The class of the talker that this press is above of; nil when there is none.
    var isAbove = false
    /// True once the press was told that it waits.
    var isQueued = false
    /// Our burst, and whether another burst ran beside it.
    var burst: TokenID?
    var burstClass = FloorClass.normal
    var hasOverlapped = false
    /// The last frame that left.
    var sent: (burst: UInt32, frame: UInt32) = (0, 0)
    /// When the person let go of the key while the burst ran.
    var letGo: Instant?
    /// Whose burst the node shows.
    var shown: TokenID?
    /// The node's talker died at this time and is still shown.
    var shownDead: Instant?
    /// When a session with a talking node came up, before anything of that talker was heard.
    var awaits: (talker: Int, since: Instant)?
  }

  /// Where the tail of each node's last burst begins.
  private var tails: [Int: (burst: UInt32, frame: UInt32)] = [:]
  /// The figures so far.
  package private(set) var figures = FloorFigures()

  private var nodes: [Node]
  /// Ways that are cut, by `from * count + to`.
  private var cuts: [Bool]
  /// Since when the bursts of two nodes run side by side, by `smaller * count + larger`.
  private var overlapSince: [Instant?]
  /// Nodes whose frames leave, in ascending order.
  private var talking: [Int] = []
  /// When a talker let go of the floor while others were queued.
  private var handOverSince: Instant?
  /// When a talker died while others were queued.
  private var crashSince: Instant?

  /// A meter for that many nodes.
  package init(nodes count: Int) {
    nodes = Array(repeating: Node(), count: count)
    cuts = Array(repeating: false, count: count * count)
    overlapSince = Array(repeating: nil, count: count * count)
  }

  /// Never: all that happens counts.
  package var isSatisfied: Bool { false }

  /// Takes the next observation.
  package mutating func take(_ observation: Observation) {
    let at = observation.at
    let node = observation.node
    switch observation.what {
    case .heard(let mark, let from, let rendered):
      takeHeard(mark, from: from, rendered: rendered != nil, by: node, at: at)
    case .frameSent(_, let frame, _, let burst): takeFrame(frame, of: burst, by: node)
    case .pressed(let floorClass): takePress(floorClass, by: node, at: at)
    case .keyUp:
      if nodes[node].burst != nil { nodes[node].letGo = at }
    case .released, .denied, .unheard: takeEndOfPress(of: node, observation.what)
    case .queued: nodes[node].isQueued = nodes[node].pressed != nil
    case .started(let token): takeStart(token, of: node, at: at)
    case .stopped(_, let reason): takeStop(of: node, reason: reason, at: at)
    case .talker(let token): show(token.id, at: node, at)
    case .renumbered(_, let token): nodes[node].burst = token.id
    case .talkerRenumbered(let old, let token):
      if nodes[node].shown == old { nodes[node].shown = token.id }
    case .talkerDone(let token, _), .talkerCut(let token):
      if nodes[node].shown == token.id { show(nil, at: node, at) }
    case .sent(let note, let toAll): count(note, toAll: toAll)
    case .crashed: takeCrash(of: node, at: at)
    case .restarted:
      nodes[node] = Node()
    case .stalled: setStalled(node, true, at: at)
    case .resumed: setStalled(node, false, at: at)
    case .linkDown(let to): setCut(from: node, to: to, true, at: at)
    case .linkUp(let to): setCut(from: node, to: to, false, at: at)
    case .member(let other, let present):
      if present, nodes[other].burst != nil, nodes[node].shown == nil {
        nodes[node].awaits = (other, at)
      }
    case .finishing:
      // The frame under way still holds speech; those behind it are the tail.
      tails[node] = (nodes[node].sent.burst, nodes[node].sent.frame + 2)
      takeLettingGo(of: node, at: at)
    case .keyDown, .limitWarning, .received, .presence, .reserving,
      .reserved, .view, .lied, .draining, .excused:
      break
    }
  }

  /// Closes what is open at the end of a run.
  package mutating func finish(at end: Instant) {
    for node in talking {
      endOverlaps(of: node, at: end)
      if nodes[node].hasOverlapped { figures.overlappedBursts += 1 }
    }
    talking.removeAll()
    for index in nodes.indices where nodes[index].pressed != nil {
      figures.unservedPresses += 1
      nodes[index].pressed = nil
    }
  }

  // MARK: Presses

  private mutating func takePress(_ floorClass: FloorClass, by node: Int, at: Instant) {
    figures.presses += 1
    let heard = talking.filter { $0 != node && !cuts[$0 * nodes.count + node] }
    nodes[node].pressed = at
    nodes[node].pressedClass = floorClass
    nodes[node].isQueued = false
    nodes[node].foundFloorIdle = heard.isEmpty
    nodes[node].isAbove =
      floorClass.preempts && !heard.isEmpty
      && heard.allSatisfy { nodes[$0].burstClass < floorClass }
  }

  private mutating func takeEndOfPress(of node: Int, _ what: Observation.What) {
    guard nodes[node].pressed != nil else { return }
    nodes[node].pressed = nil
    nodes[node].isQueued = false
    figures.unservedPresses += 1
  }

  private mutating func takeStart(_ token: Token, of node: Int, at: Instant) {
    figures.bursts += 1
    if let pressed = nodes[node].pressed {
      if nodes[node].foundFloorIdle { figures.access.add(at - pressed) }
      if nodes[node].isAbove { figures.preemption.add(at - pressed) }
      if nodes[node].isQueued {
        if let since = handOverSince { figures.handOver.add(at - since) }
        if let since = crashSince { figures.crashToNext.add(at - since) }
      }
    }
    // Whoever waits now waits for this talker, not for an idle floor.
    for other in nodes.indices where !cuts[node * nodes.count + other] {
      nodes[other].foundFloorIdle = false
    }
    handOverSince = nil
    crashSince = nil
    nodes[node].pressed = nil
    nodes[node].isQueued = false
    nodes[node].burst = token.id
    nodes[node].burstClass = token.floorClass
    nodes[node].hasOverlapped = false
    nodes[node].letGo = nil
    show(nil, at: node, at)
    talking.append(node)
    talking.sort()
    beginOverlaps(of: node, at: at)
  }

  private mutating func takeStop(of node: Int, reason: StopReason, at: Instant) {
    guard nodes[node].burst != nil else { return }
    takeLettingGo(of: node, at: at)
    endBurst(of: node, at: at)
    if reason == .released || reason == .limit, isAnyoneQueued(besides: node) {
      handOverSince = at
    }
  }

  /// The node learned that the key is up, or stopped for another reason.
  private mutating func takeLettingGo(of node: Int, at: Instant) {
    guard let letGo = nodes[node].letGo else { return }
    figures.release.add(at - letGo)
    nodes[node].letGo = nil
  }

  private mutating func endBurst(of node: Int, at: Instant) {
    endOverlaps(of: node, at: at)
    if nodes[node].hasOverlapped { figures.overlappedBursts += 1 }
    nodes[node].burst = nil
    nodes[node].letGo = nil
    talking.removeAll { $0 == node }
    for index in nodes.indices where nodes[index].awaits?.talker == node {
      nodes[index].awaits = nil
    }
  }

  private func isAnyoneQueued(besides node: Int) -> Bool {
    nodes.indices.contains { other in
      other != node && nodes[other].isAlive && nodes[other].isQueued && isReachable(other, node)
    }
  }

  private mutating func takeCrash(of node: Int, at: Instant) {
    let burst = nodes[node].burst
    if let burst {
      endBurst(of: node, at: at)
      if isAnyoneQueued(besides: node) { crashSince = at }
      for index in nodes.indices where nodes[index].isAlive && nodes[index].shown == burst {
        nodes[index].shownDead = at
      }
    }
    let waited = nodes[node].pressed != nil
    nodes[node] = Node()
    nodes[node].isAlive = false
    if waited { figures.presses -= 1 }
  }

  // MARK: What listeners hear and see

  private mutating func show(_ token: TokenID?, at node: Int, _ at: Instant) {
    if let since = nodes[node].shownDead, nodes[node].shown != token {
      figures.crashToFree.add(at - since)
      nodes[node].shownDead = nil
    }
    nodes[node].shown = token
  }

  /// Frames of speech, from the permit to the release, count; the tail behind it does not.
  private func isTail(_ frame: UInt32, of burst: UInt32, by node: Int) -> Bool {
    guard let tail = tails[node] else { return false }
    return tail.burst == burst && frame >= tail.frame
  }

  private mutating func takeFrame(_ frame: UInt32, of burst: UInt32, by node: Int) {
    nodes[node].sent = (burst, frame)
    guard !isTail(frame, of: burst, by: node) else { return }
    for other in nodes.indices
    where other != node && nodes[other].isAlive && !cuts[node * nodes.count + other] {
      figures.framesDue += 1
    }
  }

  private mutating func takeHeard(
    _ mark: VoiceMark, from: Int, rendered: Bool, by node: Int, at: Instant
  ) {
    guard rendered else { return }
    if !isTail(mark.frame, of: mark.burst, by: from) { figures.framesRendered += 1 }
    if let awaits = nodes[node].awaits, awaits.talker == from {
      figures.lateEntry.add(at - awaits.since)
      nodes[node].awaits = nil
    }
  }

  private mutating func count(_ note: ControlNote, toAll: Bool) {
    guard note.kind != .heartbeat else { return }
    if toAll { figures.groupSends += 1 } else { figures.singleSends += 1 }
  }

  // MARK: Overlaps

  private func isReachable(_ left: Int, _ right: Int) -> Bool {
    !cuts[left * nodes.count + right] && !cuts[right * nodes.count + left]
  }

  private func pair(_ left: Int, _ right: Int) -> Int {
    min(left, right) * nodes.count + max(left, right)
  }

  private mutating func beginOverlaps(of node: Int, at: Instant) {
    guard !nodes[node].isStalled else { return }
    for other in talking
    where other != node && !nodes[other].isStalled && isReachable(node, other) {
      if overlapSince[pair(node, other)] == nil { overlapSince[pair(node, other)] = at }
    }
  }

  private mutating func endOverlaps(of node: Int, at: Instant) {
    for other in talking where other != node { endOverlap(node, other, at: at) }
  }

  private mutating func endOverlap(_ left: Int, _ right: Int, at: Instant) {
    guard let since = overlapSince[pair(left, right)] else { return }
    overlapSince[pair(left, right)] = nil
    guard at > since else { return }
    figures.longestOverlap = max(figures.longestOverlap, at - since)
    nodes[left].hasOverlapped = true
    nodes[right].hasOverlapped = true
  }

  private mutating func setStalled(_ node: Int, _ stalled: Bool, at: Instant) {
    if stalled { endOverlaps(of: node, at: at) }
    nodes[node].isStalled = stalled
    if !stalled, nodes[node].burst != nil { beginOverlaps(of: node, at: at) }
  }

  private mutating func setCut(from: Int, to: Int, _ cut: Bool, at: Instant) {
    if cut { endOverlap(from, to, at: at) }
    cuts[from * nodes.count + to] = cut
    if !cut, nodes[from].burst != nil, nodes[to].burst != nil { beginOverlaps(of: from, at: at) }
  }
}
