import TalkCore
import TalkFloor
import TalkWire

/// S1: a listener never renders two tokens in one slot; the rendered token only rises, or ends by
/// release or lease.
///
/// Checked on arrivals, where one token at a time and a rising one is the stronger demand: a frame
/// is rendered only under the talker that the node was last told of, and a talker takes another's
/// place only by a higher turn, an equal turn (the hash decides), or a class that pre-empts; with
/// the release or the lease of the old one behind us anybody may follow. A node that talks itself
/// renders nobody. That the sound of the old one plays out before that of the new one begins is the
/// playout's part, and checked with whole nodes.
struct OneTalkerChecker: FloorChecker {
  static let invariant = "S1"
  private let conditions: RunConditions

  init(_ conditions: RunConditions) { self.conditions = conditions }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    switch seen.what {
    case .heard(_, _, .some), .talkerRenumbered, .talker: break
    default: return nil
    }
    return judge(seen, truth.nodes[seen.node])
  }

  private func judge(_ seen: Observation, _ node: GroundTruth.Node) -> String? {
    switch seen.what {
    case .heard(_, _, let rendered?):
      if let burst = node.burst {
        return "plays \(short(rendered, conditions)) while it sends "
          + short(burst.token.id, conditions)
      }
      guard node.talker?.id != rendered else { return nil }
      let talker = node.talker.map { short($0.id, conditions) } ?? "nobody"
      return "plays \(short(rendered, conditions)), the talker is \(talker)"
    case .talkerRenumbered(let old, let next):
      guard next.id.holder == old.holder, next.id.turn > old.turn, node.talker?.id == old else {
        return "renumbers \(short(old, conditions)) to \(short(next.id, conditions))"
      }
      return nil
    case .talker(let next):
      guard let last = displaced(by: next, node, at: seen.at) else { return nil }
      let preempts = next.floorClass.preempts && next.floorClass > last.floorClass
      guard !preempts, next.id.turn < last.id.turn else { return nil }
      return "turns back from \(short(last.id, conditions)) to \(short(next.id, conditions))"
    default: return nil
    }
  }

  /// The talker whose place `next` takes, if it ends only now and through it.
  private func displaced(
    by next: Token, _ node: GroundTruth.Node, at now: Instant
  ) -> Token? {
    if let talker = node.talker { return talker.id == next.id ? nil : talker }
    guard let last = node.lastTalker, last.until == now, last.token.id != next.id,
      node.resumedAt != now, now - node.firstHand < conditions.timers.lease
    else { return nil }
    return last.token
  }
}

/// S2: nothing of a released, displaced or succeeded token is rendered, under any reordering.
///
/// A token is over at a node once its holder's release came there, once the node was told of
/// another talker after it, or once the node itself talked after it. A node that crashed has
/// forgotten.
struct OverTokenChecker: FloorChecker {
  static let invariant = "S2"
  private static let memory = 64
  private let conditions: RunConditions
  private var over: [[TokenID]]
  private var heard: [TokenID?]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    over = Array(repeating: [], count: conditions.count)
    heard = Array(repeating: nil, count: conditions.count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let node = seen.node
    switch seen.what {
    case .heard(let mark, _, let rendered?):
      guard over[node].contains(rendered) else { return nil }
      return "plays frame \(mark.frame) of \(short(rendered, conditions)), which is over here"
    case .received(let note, let from):
      guard note.kind == .release, let token = note.token,
        conditions.holder(token.id) == from
      else { return nil }
      end(token.id, node)
    case .talker(let token):
      if let last = heard[node], last != token.id { end(last, node) }
      heard[node] = token.id
    case .talkerRenumbered(let old, let token):
      end(old, node)
      heard[node] = token.id
    case .started:
      if let last = heard[node] { end(last, node) }
      heard[node] = nil
    case .talkerCut(let token): end(token.id, node)
    case .crashed:
      over[node].removeAll()
      heard[node] = nil
    default: break
    }
    return nil
  }

  private mutating func end(_ token: TokenID, _ node: Int) {
    guard !over[node].contains(token) else { return }
    if over[node].count == Self.memory { over[node].removeFirst() }
    over[node].append(token)
  }
}

/// S8: only first-hand packets extend a lease.
///
/// The talker of a node was last heard of by itself (a frame that was rendered, a heartbeat or TAKEN
/// of its own) or by the grant at most a lease ago. A loop that stood still is excused: the lease
/// counts from its going on, and from the packets that it then takes from its socket, and the
/// lateness that the loop tells the floor is added to that (floor.md: machines "extend leases by the
/// lateness"). The slack of 3 ms is for clocks that run slow.
struct LeaseChecker: FloorChecker {
  static let invariant = "S8"
  private static let slack = Duration.milliseconds(3)
  private let conditions: RunConditions
  private let bound: UInt64

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    bound = UInt64((conditions.timers.lease + Self.slack).wholeNanoseconds)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    switch seen.what {
    case .heard, .received, .view: break
    default: return nil
    }
    let last = truth.nodes[seen.node].firstHand.nanoseconds
    // An excused lateness may lie ahead.
    guard seen.at.nanoseconds > last, seen.at.nanoseconds - last > bound else { return nil }
    let node = truth.nodes[seen.node]
    guard let talker = node.talker, node.isAlive, !node.isPaused else { return nil }
    return "still hears \(short(talker.id, conditions)), "
      + "\((seen.at.nanoseconds &- last) / 1_000_000) ms after its last own packet"
  }
}

/// S10: a class that the roster does not allow, or a succession without its signed grant, has no
/// effect.
///
/// No frame is rendered and no burst started in a class that the roster refuses the holder. A
/// talker whose lease runs is followed by another only through grants that their holders have
/// really made (kept here as they leave), or through a class that pre-empts. A node that passes the
/// floor on itself knows the new talker an instant before its grant leaves, so the question is
/// settled when that instant is over.
struct AuthorityChecker: FloorChecker {
  static let invariant = "S10"
  private static let memory = 512
  private let conditions: RunConditions
  private var grants: [(from: TokenID, to: TokenID)] = []
  private var next = 0
  private var open: (node: Int, at: Instant, from: TokenID, to: TokenID)?

  init(_ conditions: RunConditions) { self.conditions = conditions }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    if let open, open.at != seen.at || open.node != seen.node {
      self.open = nil
      guard leads(from: open.from, to: open.to, steps: 4) else {
        return "\(nodeName(open.node)) followed \(short(open.from, conditions)), which lived, by "
          + "\(short(open.to, conditions)) without a grant"
      }
    }
    switch seen.what {
    case .heard(let mark, let from, .some):
      guard !conditions.rights[from].may(mark.floorClass) else { return nil }
      return "plays class \(mark.floorClass) of \(nodeName(from)), who may not use it"
    case .started(let token):
      guard !conditions.rights[seen.node].may(token.floorClass) else { return nil }
      return "talks in class \(token.floorClass), which the roster refuses it"
    case .sent(let note, _):
      guard let from = note.grantFrom, let to = note.grantTo,
        conditions.holder(from.id) == seen.node
      else { return nil }
      keep(from.id, to.id)
    case .talker(let token), .talkerRenumbered(_, let token):
      guard let last = succeeded(by: token, truth.nodes[seen.node], seen.at) else { return nil }
      open = (seen.node, seen.at, last.id, token.id)
    default: break
    }
    return nil
  }

  private mutating func keep(_ from: TokenID, _ to: TokenID) {
    guard !grants.contains(where: { $0 == (from, to) }) else { return }
    if grants.count < Self.memory {
      grants.append((from, to))
    } else {
      grants[next] = (from, to)
      next = (next + 1) % Self.memory
    }
  }

  /// The living talker that `token` follows by no right of its own.
  private func succeeded(
    by token: Token, _ node: GroundTruth.Node, _ now: Instant
  ) -> Token? {
    guard now - node.firstHand < conditions.timers.lease, node.resumedAt != now else { return nil }
    guard let last = node.talker ?? node.lastTalker.flatMap({ $0.until == now ? $0.token : nil }),
      last.id != token.id
    else { return nil }
    let holder = conditions.holder(token.id)
    if token.floorClass.preempts, token.floorClass > last.floorClass {
      guard holder < 0 || !conditions.rights[holder].may(token.floorClass) else { return nil }
    }
    return last
  }

  private func leads(from: TokenID, to: TokenID, steps: Int) -> Bool {
    guard steps > 0 else { return false }
    for grant in grants where grant.to == to {
      if grant.from == from || leads(from: from, to: grant.from, steps: steps - 1) { return true }
    }
    return false
  }
}
