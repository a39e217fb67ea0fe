import TalkCore
import TalkFloor
import TalkWire

/// L1: an idle press with a reachable keeper is granted in one round trip plus repeats.
///
/// Applies without faults and refusals. The floor was at rest for 2 s, so that all know the keeper,
/// and no node waits for its disk; then a press must start its burst within two of the longest
/// delays and 1 ms, unless the key goes up or somebody else presses meanwhile.
struct IdleGrantChecker: FloorChecker {
  static let invariant = "L1"
  private static let rest = Duration.seconds(2)
  private let bound: Duration
  private let applies: Bool
  private var pending: (node: Int, until: Instant)?

  init(_ conditions: RunConditions) {
    let mix = conditions.mix
    applies =
      conditions.isFaultless && mix.restricted == 0 && mix.longestDelay <= .milliseconds(18)
    bound = mix.longestDelay * 2 + .milliseconds(1)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    guard applies else { return nil }
    if let pending, seen.at > pending.until {
      self.pending = nil
      return "\(nodeName(pending.node)) pressed an idle floor and had no grant in "
        + "\(bound.wholeNanoseconds / 1_000) µs"
    }
    switch seen.what {
    case .pressed:
      let isIdle =
        truth.talking == 0 && seen.at - truth.silentSince > Self.rest
        && !truth.nodes.contains { $0.isAsking || $0.awaitsDisk }
      // What changed last is this press's own key.
      pending = isIdle && pending == nil ? (seen.node, seen.at + bound) : nil
    case .released, .started: pending = nil
    default: break
    }
    return nil
  }
}

/// L2: after the holder's crash the next waiting talker speaks within lease + window + 30 ms ×
/// place.
///
/// Applies where crashes are the only fault. From the crash of a talker behind whom somebody was
/// told a place, one of the waiting speaks within the lease, the window, 30 ms for each who waits,
/// and 60 ms for the answers, the repeats and the members' own leases; unless nobody who waited
/// does any more, nobody is left who could answer, or another node dies or comes back. Where a turn
/// must reach the disk first, its time is added.
struct SuccessorChecker: FloorChecker {
  static let invariant = "L2"
  private let conditions: RunConditions
  private let applies: Bool
  private var pending: (since: Instant, until: Instant, waiting: [Int])?
  /// For each pair: whether the second is here in the eyes of the first.
  private var isAway: [Bool]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    isAway = Array(repeating: false, count: conditions.count * conditions.count)
    let mix = conditions.mix
    applies =
      mix.crashes > 0 && mix.isLossless && mix.stalls == 0 && mix.suspends == 0
      && mix.liars == 0 && mix.restricted == 0 && mix.lostEdges == 0
      && mix.longestDelay <= .milliseconds(18)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    guard applies else { return nil }
    if case .member(let peer, let present) = seen.what {
      isAway[seen.node * conditions.count + peer] = !present
    }
    if let pending, seen.at > pending.until {
      if pending.waiting.contains(where: { truth.nodes[$0].awaitsDisk }) {
        self.pending!.until = seen.at + .milliseconds(20)
        return nil
      }
      self.pending = nil
      return "nobody of \(pending.waiting.map(nodeName).joined(separator: ", ")) talks "
        + "\((pending.until - pending.since).wholeNanoseconds / 1_000_000) ms after the crash"
    }
    switch seen.what {
    case .crashed:
      pending = nil
      guard truth.nodes[seen.node].burst != nil else { return nil }
      let waiting = truth.nodes.indices.filter {
        truth.nodes[$0].isQueued && hasCompany($0, without: seen.node, truth)
      }
      guard !waiting.isEmpty else { return nil }
      let bound =
        conditions.timers.lease + conditions.timers.claimWindow
        + conditions.timers.successorStep * waiting.count + .milliseconds(60)
      pending = (seen.at, seen.at + bound, waiting)
    case .started, .restarted, .draining: pending = nil
    case .released:
      pending?.waiting.removeAll { $0 == seen.node }
      if pending?.waiting.isEmpty == true { pending = nil }
    default: break
    }
    return nil
  }

  /// True when a member besides the dead one is alive and here, both ways.
  private func hasCompany(_ node: Int, without dead: Int, _ truth: GroundTruth) -> Bool {
    let count = conditions.count
    return (0..<count).contains { other in
      other != node && other != dead && truth.nodes[other].isAlive
        && !isAway[node * count + other] && !isAway[other * count + node]
    }
  }
}

/// L3: every request ends in grant, deny or cancel.
///
/// A press that waits while nobody talks anywhere, its node running and its key down, ends within
/// 3 s: in a burst, a refusal, "unheard", or somebody else's burst. A press that waits at all ends
/// within the talk limits of a full queue. A node that lies may lie itself out of its own requests.
struct EndingRequestChecker: FloorChecker {
  static let invariant = "L3"
  private static let bound = Duration.seconds(3)
  private let conditions: RunConditions
  private var asked: [Instant?]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    asked = Array(repeating: nil, count: conditions.count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let node = seen.node
    switch seen.what {
    case .pressed, .stopped: asked[node] = seen.at
    case .resumed, .restarted: asked[node] = seen.at
    case .view:
      let state = truth.nodes[node]
      guard state.isAsking, state.keyDown, state.isAlive, !state.isPaused,
        !conditions.liars[node], let since = asked[node], truth.talking == 0
      else { return nil }
      let waited = seen.at - max(since, truth.silentSince)
      guard waited > Self.bound else { return nil }
      return "waits for the floor, \(waited.wholeNanoseconds / 1_000_000) ms after anybody talked"
    default: break
    }
    return nil
  }
}

/// L4: one view within two heartbeats after a partition heals.
///
/// Once nothing has changed for a while (no press, burst, fault, lie, or member that comes or goes)
/// and no way is cut, all running nodes have the same token on record, talking or not. A while is
/// 3.5 s: a keepalive until all know that they are here, and two heartbeats of an idle keeper; with
/// loss 14 s, so that a dozen heartbeats would have to be lost. From the moment that a node loses
/// its memory in a crash to the next burst there may be no keeper, since a restarted node is none
/// (floor.md, "Roles"), and an idle floor that nobody keeps has no heartbeats: then only what
/// people see is compared, whether somebody talks and who.
struct OneViewChecker: FloorChecker {
  static let invariant = "L4"
  private let conditions: RunConditions
  private let applies: Bool
  private let rest: Duration
  private var round: Instant?
  private var hasKeeper = true
  private var first: (node: Int, view: PartyView)?

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    let mix = conditions.mix
    applies = mix.hidden == 0 && mix.rate == 0 && mix.restricted == 0
    let loses = mix.loss > 0 || mix.fadeStart > 0
    rest = loses ? .seconds(14) : .milliseconds(3_500)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    switch seen.what {
    case .crashed, .restarted: hasKeeper = false
    case .started: hasKeeper = true
    default: break
    }
    guard applies, case .view(var view) = seen.what else { return nil }
    if !hasKeeper, !view.isTalking { view.token = nil }
    guard truth.cuts == 0, seen.at - truth.lastChange > rest, !conditions.liars[seen.node] else {
      return nil
    }
    guard round == seen.at, let first else {
      round = seen.at
      self.first = (seen.node, view)
      return nil
    }
    guard first.view.token?.id != view.token?.id || first.view.isTalking != view.isTalking else {
      return nil
    }
    return "has \(text(view)), \(nodeName(first.node)) has \(text(first.view)), "
      + "\((seen.at - truth.lastChange).wholeNanoseconds / 1_000_000) ms after the last change"
  }

  private func text(_ view: PartyView) -> String {
    guard let token = view.token else { return "no token" }
    return "\(short(token.id, conditions)) \(view.isTalking ? "talking" : "idle")"
  }
}

/// L5: a wait is at most queue × limit; Jain's fairness is at least 0.95 at equal class.
///
/// Applies without faults. A press that was told place k starts, is given up or refused within k
/// talk limits and 2 s for the hand-overs. Over a run in which every node pressed 40 times in the
/// normal class, the parts of their presses that led to bursts have Jain's index
/// (Σx)² ÷ (n Σx²) ≥ 0.95.
struct FairnessChecker: FloorChecker {
  static let invariant = "L5"
  private static let enough = 40
  private let conditions: RunConditions
  private let applies: Bool
  private var waits: [(until: Instant, place: Int)?]
  private var presses: [Int]
  private var bursts: [Int]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    applies = conditions.isFaultless && conditions.mix.restricted == 0
    waits = Array(repeating: nil, count: conditions.count)
    presses = Array(repeating: 0, count: conditions.count)
    bursts = Array(repeating: 0, count: conditions.count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    guard applies else { return nil }
    let node = seen.node
    switch seen.what {
    case .pressed(.normal): presses[node] += 1
    case .queued(let place):
      guard conditions.mix.classes == 0, waits[node] == nil else { return nil }
      waits[node] = (seen.at + conditions.timers.talkLimit * place + .seconds(2), place)
    case .started(let token):
      if token.floorClass == .normal { bursts[node] += 1 }
      waits[node] = nil
    case .released, .denied, .unheard, .crashed: waits[node] = nil
    case .view:
      guard let wait = waits[node], seen.at > wait.until else { return nil }
      return "waits at place \(wait.place) for longer than that many talk limits"
    default: break
    }
    return nil
  }

  mutating func finish(_ truth: GroundTruth) -> String? {
    guard applies, conditions.mix.classes == 0, presses.allSatisfy({ $0 >= Self.enough }) else {
      return nil
    }
    let parts = zip(bursts, presses).map { Double($0) / Double($1) }
    let sum = parts.reduce(0, +)
    let squares = parts.reduce(0) { $0 + $1 * $1 }
    let jain = squares > 0 ? sum * sum / (Double(parts.count) * squares) : 0
    guard jain < 0.95 else { return nil }
    return "Jain's index of the presses that led to bursts is \(jain): \(bursts) of \(presses)"
  }
}
