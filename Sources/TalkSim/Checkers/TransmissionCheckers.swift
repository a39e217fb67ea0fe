import TalkCore
import TalkFloor
import TalkWire

/// S3: two holders mutually reachable for longer than 60 ms never both transmit.
///
/// Reachable means that datagrams really pass: once each of two running bursts had a frame, sent
/// while both ran, arrive at the other's sender, one of them must be silent 60 ms later. So loss is
/// no excuse, and a link that lets nothing through no crime. A node that lies, or that the roster
/// refuses speech, is no holder. Where a lie has driven the two turns apart, each is believed in
/// steps of 2^20, so that twice the time of those steps is added.
struct OverlapChecker: FloorChecker {
  static let invariant = "S3"
  private static let bound = Duration.milliseconds(60)
  private let conditions: RunConditions
  private let count: Int
  /// For each pair: how many frames the first had sent when both began to run.
  private var before: [UInt32]
  /// For each pair: when a frame of the first, sent while both ran, came to the second.
  private var contact: [Instant?]

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    count = conditions.count
    before = Array(repeating: 0, count: count * count)
    contact = Array(repeating: nil, count: count * count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let node = seen.node
    switch seen.what {
    case .started:
      for other in 0..<count where other != node {
        contact[node * count + other] = nil
        contact[other * count + node] = nil
        before[node * count + other] = 0
        before[other * count + node] = truth.nodes[other].burst?.frames ?? 0
      }
    case .heard(let mark, let from, _):
      guard truth.talking > 1, truth.nodes[node].burst != nil,
        let burst = truth.nodes[from].burst, burst.number == mark.burst,
        mark.frame > before[from * count + node], contact[from * count + node] == nil
      else { return nil }
      contact[from * count + node] = seen.at
    case .frameSent:
      guard truth.talking > 1 else { return nil }
      return rival(of: node, truth, seen.at)
    default: break
    }
    return nil
  }

  private func isHolder(_ node: Int) -> Bool {
    !conditions.liars[node] && conditions.rights[node].maySpeak
  }

  private func steps(between left: Int, _ right: Int, _ truth: GroundTruth) -> Duration {
    guard conditions.mix.liars > 0, let one = truth.nodes[left].burst?.token.id.turn,
      let two = truth.nodes[right].burst?.token.id.turn
    else { return .zero }
    return conditions.timers.jumpStep * Int(2 * ((max(one, two) - min(one, two)) >> 20))
  }

  private func rival(of node: Int, _ truth: GroundTruth, _ now: Instant) -> String? {
    guard isHolder(node) else { return nil }
    for other in 0..<count where other != node && isHolder(other) {
      guard let burst = truth.nodes[other].burst, now - burst.lastFrame <= .milliseconds(40),
        let there = contact[node * count + other], let here = contact[other * count + node],
        now - max(there, here) > Self.bound + steps(between: node, other, truth)
      else { continue }
      let own = truth.nodes[node].burst.map { short($0.token.id, conditions) } ?? "?"
      return "sends \(own) while \(nodeName(other)) sends \(short(burst.token.id, conditions)), "
        + "\((now - max(there, here)).wholeNanoseconds / 1_000_000) ms after they heard each other"
    }
    return nil
  }
}

/// S4: without loss, crash or cut there are never two holders, for any number of nodes, presses and
/// any reordering.
///
/// A burst never starts while another runs. Applies while every datagram arrives, within 18 ms: a
/// member that forwards a request waits 40 ms for the keeper's answer, so there and back must take
/// less, as on any LAN.
struct TwoHoldersChecker: FloorChecker {
  static let invariant = "S4"
  private let conditions: RunConditions
  private let applies: Bool

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    applies = conditions.isFaultless && conditions.mix.longestDelay <= .milliseconds(18)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    guard applies, case .started(let token) = seen.what, truth.talking > 0 else { return nil }
    for (other, node) in truth.nodes.enumerated() where other != seen.node {
      guard let burst = node.burst else { continue }
      return "starts \(short(token.id, conditions)) while \(nodeName(other)) sends "
        + short(burst.token.id, conditions)
    }
    return nil
  }
}

/// S5: nobody transmits without key down (+ tail), without a live token, past the limit, or while
/// fenced.
///
/// No frame leaves later than 20 ms and a tail after the key went up as the person has it (500 ms
/// more where edges get lost; a loop that stood still counts from its going on); after 60 s and a
/// frame of talk, where presses within 1.5 s of a burst's end count on; under a token that its
/// sender has released or granted away; nor, after the loop stood still for more than 150 ms,
/// before a member said that the token stands.
struct MayTransmitChecker: FloorChecker {
  static let invariant = "S5"
  private let conditions: RunConditions
  private var limitStart: [Instant]
  private var lastEnd: [Instant]
  private var fenced: [TokenID?]
  private var givenAway: [[TokenID]]
  private let keyBound: Duration

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    limitStart = Array(repeating: .zero, count: conditions.count)
    lastEnd = Array(repeating: .zero, count: conditions.count)
    fenced = Array(repeating: nil, count: conditions.count)
    givenAway = Array(repeating: [], count: conditions.count)
    keyBound =
      .milliseconds(61) + (conditions.mix.lostEdges > 0 ? .milliseconds(501) : .zero)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    let (at, node) = (seen.at, seen.node)
    switch seen.what {
    case .started:
      fenced[node] = nil
      let counts = at - lastEnd[node] <= conditions.timers.limitMemory
      limitStart[node] = counts ? at - (lastEnd[node] - limitStart[node]) : at
    case .renumbered: fenced[node] = nil
    case .stopped: lastEnd[node] = at
    case .crashed:
      (fenced[node], lastEnd[node]) = (nil, .zero)
      givenAway[node].removeAll()
    case .resumed:
      let stood = at - truth.nodes[node].pausedAt
      let guarded = conditions.timers.fence + .milliseconds(1)
      if stood > guarded { fenced[node] = truth.nodes[node].burst?.token.id }
    case .received(let note, _):
      if note.answer == .alive, note.token?.id == fenced[node] { fenced[node] = nil }
    case .sent(let note, _): noteGivenAway(note, node)
    case .frameSent(let token, let frame, _, _):
      return judge(token, frame, truth.nodes[node], at, node)
    default: break
    }
    return nil
  }

  private mutating func noteGivenAway(_ note: ControlNote, _ node: Int) {
    // A node that lies says so of tokens that it keeps.
    guard !conditions.liars[node] else { return }
    var over: TokenID?
    if note.kind == .release { over = note.token?.id }
    if note.kind == .grant { over = note.grantFrom?.id }
    guard let over, conditions.holder(over) == node, !givenAway[node].contains(over) else {
      return
    }
    if givenAway[node].count == 16 { givenAway[node].removeFirst() }
    givenAway[node].append(over)
  }

  private func judge(
    _ token: Token, _ frame: UInt32, _ state: GroundTruth.Node, _ at: Instant, _ node: Int
  ) -> String? {
    let name = "sends frame \(frame) of \(short(token.id, conditions))"
    if !state.personDown {
      let up = at - max(state.personUpAt, state.resumedAt)
      if up > keyBound { return "\(name) \(up.wholeNanoseconds / 1_000_000) ms after key-up" }
    }
    let drift = Duration.milliseconds(13)
    if at - limitStart[node] > conditions.timers.talkLimit + .milliseconds(20) + drift {
      return "\(name) past the talk limit"
    }
    if fenced[node] == token.id { return "\(name) though nobody said that it stands" }
    if givenAway[node].contains(token.id) { return "\(name), which it gave away" }
    return nil
  }
}

/// A2: transmission stops at most 20 ms and the tail after key-up, as the node has it; and the node
/// has it at most 500 ms after the person where edges get lost, at once elsewhere.
struct StopsInTimeChecker: FloorChecker {
  static let invariant = "A2"
  private static let bound = Duration.milliseconds(61)
  private let conditions: RunConditions

  init(_ conditions: RunConditions) { self.conditions = conditions }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    switch seen.what {
    case .released, .stopped, .frameSent, .view: break
    default: return nil
    }
    let node = truth.nodes[seen.node]
    guard node.isAlive, !node.isPaused else { return nil }
    switch seen.what {
    case .released:
      guard !node.personDown else { return nil }
      let late = seen.at - max(node.personUpAt, node.resumedAt)
      let bound = conditions.mix.lostEdges > 0 ? Duration.milliseconds(501) : .zero
      guard late > bound else { return nil }
      return "learns of the key's release after \(late.wholeNanoseconds / 1_000_000) ms"
    case .stopped, .frameSent, .view:
      guard let burst = node.burst, !node.keyDown else { return nil }
      let late = seen.at - max(node.keyUpAt, node.resumedAt, burst.since)
      guard late > Self.bound else { return nil }
      return "still sends \(short(burst.token.id, conditions)) "
        + "\(late.wholeNanoseconds / 1_000_000) ms after key-up"
    default: return nil
    }
  }
}

/// A1: frame-exact delivery from press to release to every reachable listener at zero loss.
///
/// Every listener plays every frame from 1 to the last one, in order. Applies where nothing is
/// lost, reordered, cut or dead and every link takes the same time: where they differ, the word
/// that the floor is over may overtake its last frames on another way.
struct DeliveryChecker: FloorChecker {
  static let invariant = "A1"
  private let conditions: RunConditions
  private let applies: Bool
  private let count: Int
  /// The last frame that each listener played of each talker, and of which burst.
  private var played: [(burst: UInt32, frame: UInt32)]
  /// The last burst that each talker ended.
  private var ended: [(burst: UInt32, frames: UInt32)]
  private var due: [(at: Instant, talker: Int, burst: UInt32, frames: UInt32)] = []

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    count = conditions.count
    let mix = conditions.mix
    applies =
      conditions.isFaultless && mix.isOrdered && mix.restricted == 0
      && mix.delay.lowerBound == mix.delay.upperBound
    played = Array(repeating: (0, 0), count: applies ? count * count : 0)
    ended = Array(repeating: (0, 0), count: count)
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    guard applies else { return nil }
    switch seen.what {
    case .heard(let mark, let from, let rendered):
      guard mark.burst > 0 else { return nil }
      let last = played[seen.node * count + from]
      let before = last.burst == mark.burst ? last.frame : 0
      if last.burst != mark.burst, last.burst > 0, last.burst == ended[from].burst,
        last.frame != ended[from].frames
      {
        return missed(seen.node, from, last.frame, ended[from])
      }
      guard rendered != nil, mark.frame == before + 1 else {
        return "\(rendered == nil ? "refuses" : "plays") frame \(mark.frame) of "
          + "\(nodeName(from))'s burst \(mark.burst) after frame \(before)"
      }
      played[seen.node * count + from] = (mark.burst, mark.frame)
    case .stopped:
      guard let burst = truth.nodes[seen.node].burst else { return nil }
      ended[seen.node] = (burst.number, burst.frames)
      due.append(
        (
          seen.at + conditions.mix.longestDelay + .milliseconds(1), seen.node, burst.number,
          burst.frames
        ))
    default: break
    }
    guard let first = due.first, first.at < seen.at else { return nil }
    due.removeFirst()
    for listener in 0..<count where listener != first.talker && first.frames > 0 {
      let last = played[listener * count + first.talker]
      // Where the next burst has begun to be played, this one was judged then.
      guard last.burst <= first.burst, last != (first.burst, first.frames) else { continue }
      let frames = last.burst == first.burst ? last.frame : 0
      return missed(listener, first.talker, frames, (first.burst, first.frames))
    }
    return nil
  }

  private func missed(
    _ listener: Int, _ talker: Int, _ frames: UInt32, _ burst: (burst: UInt32, frames: UInt32)
  ) -> String {
    "\(nodeName(listener)) played \(frames) of \(burst.frames) frames of "
      + "\(nodeName(talker))'s burst \(burst.burst)"
  }
}
