import TalkCore
import TalkFloor
import TalkWire

/// S6: a cancelled request never yields audio; one grant per request id.
///
/// No burst starts while the node takes the key for released, and a request leads to at most one
/// burst of its node, by whomever it was granted. A holder grants one request once more only after
/// the lease of its first grant has passed and nothing of the grantee came under it: then the floor
/// was not used, and has come back. Without loss, crash or cut no request is granted twice at all.
struct OneGrantChecker: FloorChecker {
  static let invariant = "S6"
  private static let memory = 64

  private struct Granted {
    var granter: Int
    var requester: Int
    var request: UInt64
    var token: TokenID
    var at: Instant
    /// True once the granter heard the grantee under it.
    var isUsed = false
  }

  private let conditions: RunConditions
  private var granted: [Granted] = []
  private var next = 0
  private var used: [[UInt64]]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    used = Array(repeating: [], count: conditions.count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let node = seen.node
    switch seen.what {
    case .started(let token):
      guard truth.nodes[node].keyDown else {
        return "starts \(short(token.id, conditions)) with its key up"
      }
      guard let grant = truth.nodes[node].grant, grant.token == token.id, grant.request != 0 else {
        return nil
      }
      if used[node].contains(grant.request) {
        return "starts a second burst by request \(grant.request & 0xffff)"
      }
      if used[node].count == Self.memory { used[node].removeFirst() }
      used[node].append(grant.request)
    case .heard(_, _, let token?): use(token, node)
    case .received(let note, let from):
      guard let token = note.token?.id, conditions.holder(token) == from,
        note.kind == .taken || note.kind == .heartbeat || note.kind == .release
      else { return nil }
      use(token, node)
    case .sent(let note, _):
      guard let from = note.grantFrom, let to = note.grantTo, note.request != 0,
        conditions.holder(from.id) == node, !conditions.liars[node]
      else { return nil }
      return grant(node, to.id, note.request, seen.at)
    default: break
    }
    return nil
  }

  private mutating func use(_ token: TokenID, _ granter: Int) {
    for index in granted.indices
    where granted[index].token == token && granted[index].granter == granter {
      granted[index].isUsed = true
    }
  }

  private mutating func grant(
    _ granter: Int, _ token: TokenID, _ request: UInt64, _ now: Instant
  ) -> String? {
    let requester = conditions.holder(token)
    // A node that takes a new turn for its own burst answers no request.
    guard granter != requester else { return nil }
    for old in granted
    where old.requester == requester && old.request == request && old.token != token {
      let isOwn = old.granter == granter
      let cameBack = !old.isUsed && now - old.at >= conditions.timers.lease
      guard conditions.isFaultless || isOwn && !cameBack else { continue }
      return "grants request \(request & 0xffff) of \(nodeName(requester)) as "
        + "\(short(token, conditions)), which was granted as \(short(old.token, conditions))"
    }
    guard !granted.contains(where: { $0.token == token && $0.granter == granter }) else {
      return nil
    }
    let new = Granted(
      granter: granter, requester: requester, request: request, token: token, at: now)
    if granted.count < Self.memory {
      granted.append(new)
    } else {
      granted[next] = new
      next = (next + 1) % Self.memory
    }
    return nil
  }
}

/// S7: the turns of a node rise over restarts and crashes before a persist; (turn, holder, seat) is
/// unique.
///
/// Every burst and every renumbering of a node is under a higher turn than its last, and every
/// grant that it makes names a higher turn than its last grant, whatever happened between.
struct RisingTurnsChecker: FloorChecker {
  static let invariant = "S7"
  private let conditions: RunConditions
  private var talked: [UInt64]
  private var granted: [TokenID?]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    talked = Array(repeating: 0, count: conditions.count)
    granted = Array(repeating: nil, count: conditions.count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let node = seen.node
    switch seen.what {
    case .started(let token), .renumbered(_, let token):
      guard token.id.turn > talked[node] else {
        return "talks under turn \(token.id.turn) after turn \(talked[node])"
      }
      talked[node] = token.id.turn
    case .sent(let note, _):
      guard let from = note.grantFrom, let to = note.grantTo, !conditions.liars[node],
        conditions.holder(from.id) == node, to.id != granted[node]
      else { return nil }
      // An older grant of its own may be told again.
      if let last = granted[node], to.id.turn <= last.turn {
        guard to.id.turn == last.turn else { return nil }
        return "grants turn \(to.id.turn) to two: \(short(last, conditions)) and "
          + short(to.id, conditions)
      }
      granted[node] = to.id
    default: break
    }
    return nil
  }
}

/// S9: no claim and no permit tone while hearing no peer.
///
/// A burst starts only when some member said within 1.2 s that it hears this node, or when any
/// control message or presence of a member came within that time. 20 ms of slack are for a loop's
/// wake and a slow clock.
struct HeardChecker: FloorChecker {
  static let invariant = "S9"
  private let conditions: RunConditions
  private var evidence: [Instant]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    evidence = Array(repeating: .zero, count: conditions.count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let node = seen.node
    switch seen.what {
    case .received, .presence: evidence[node] = seen.at
    case .resumed: evidence[node] = max(evidence[node], seen.at - .milliseconds(100))
    case .crashed: evidence[node] = .zero
    case .started(let token):
      let age = seen.at - evidence[node]
      guard age > conditions.timers.hearsUsMemory + .milliseconds(20) else { return nil }
      return "starts \(short(token.id, conditions)) "
        + "\(age.wholeNanoseconds / 1_000_000) ms after it last heard of anybody"
    default: break
    }
    return nil
  }
}

/// C1: O(1) group sends of control per burst, besides heartbeats.
///
/// Applies without faults. Over a run there are at most 14 group sends a press (counted for every
/// press and every burst: request, six times the grant, TAKEN, queue, release and cancel three
/// times each), whatever the number of nodes; single sends are at most 30 (twice a sample of about
/// six, and repeats).
struct ControlChecker: FloorChecker {
  static let invariant = "C1"
  private static let groupLimit = 14
  private static let singleLimit = 30
  private let applies: Bool
  private var presses = 0
  private var group = 0
  private var single = 0

  init(_ conditions: RunConditions) { applies = conditions.isFaultless }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    switch seen.what {
    case .pressed, .started: presses += 1
    case .sent(let note, let toAll):
      guard note.kind != .heartbeat else { return nil }
      if toAll { group += 1 } else { single += 1 }
    default: break
    }
    return nil
  }

  mutating func finish(_ truth: GroundTruth) -> String? {
    guard applies, presses > 0 else { return nil }
    guard group > Self.groupLimit * presses || single > Self.singleLimit * presses + 500 else {
      return nil
    }
    return "\(group) group sends and \(single) single ones for \(presses) presses and bursts"
  }
}
