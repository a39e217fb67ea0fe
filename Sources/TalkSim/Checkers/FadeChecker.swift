import TalkCore
import TalkFloor
import TalkWire

/// S11: a node whose downlink fades (60 ms to 2 s) never ends a floor that others still hear.
///
/// Applies to mixes whose only faults are such fades, and to a burst, in a class that does not
/// pre-empt, that starts while another has talked for 300 ms, sent a frame within the last 100 ms,
/// and been rendered by a third within that time. A node that is not keeper never starts such a
/// burst of its own making. A keeper may, on an "I hear you" of the last 1.2 s (floor.md, "Roles"):
/// then within a second no listener leaves the living talker for it, and the talker does not stop.
struct FadeChecker: FloorChecker {
  static let invariant = "S11"

  private struct Rival {
    var token: TokenID
    var live: TokenID
    var until: Instant
  }

  private let conditions: RunConditions
  private let applies: Bool
  /// For each node: whom it last rendered, and when.
  private var rendered: [(token: TokenID, at: Instant)?]
  /// For each node: true while the last burst that it knows of was its own.
  private var isKeeper: [Bool]
  private var rivals: [Rival] = []

  init(_ conditions: RunConditions) {
    self.conditions = conditions
    let mix = conditions.mix
    applies =
      mix.fades > 0 && mix.hasNoNodeFaults && mix.liars == 0 && mix.loss == 0
      && mix.fadeStart == 0 && mix.hidden == 0 && mix.oneWays == 0 && mix.outages == 0
      && mix.partitions == 0
    rendered = Array(repeating: nil, count: conditions.count)
    isKeeper = (0..<conditions.count).map { $0 == 0 }
  }

  mutating func observe(_ seen: Observation, _ truth: GroundTruth) -> String? {
    guard applies else { return nil }
    switch seen.what {
    case .heard(_, _, let token?): rendered[seen.node] = (token, seen.at)
    case .talker(let token):
      isKeeper[seen.node] = false
      return leaves(for: token.id, seen)
    case .stopped(let token, .lost):
      let rival = rivals.first { $0.live == token.id && seen.at <= $0.until }
      return rival.map { "stops for \(short($0.token, conditions)), whose downlink had faded" }
    case .started(let token):
      defer { isKeeper[seen.node] = true }
      return judge(token, seen, truth)
    default: break
    }
    return nil
  }

  private func leaves(for token: TokenID, _ seen: Observation) -> String? {
    guard let rival = rivals.first(where: { $0.token == token && seen.at <= $0.until }),
      let last = rendered[seen.node], last.token == rival.live,
      seen.at - last.at < .milliseconds(100)
    else { return nil }
    return "leaves \(short(rival.live, conditions)) for \(short(token, conditions)), "
      + "whose downlink had faded"
  }

  private mutating func judge(
    _ token: Token, _ seen: Observation, _ truth: GroundTruth
  ) -> String? {
    rivals.removeAll { $0.until < seen.at }
    guard truth.talking > 0, truth.nodes[seen.node].grant?.token != token.id else { return nil }
    for (other, node) in truth.nodes.enumerated() where other != seen.node {
      guard let burst = node.burst, seen.at - burst.since > .milliseconds(300),
        seen.at - burst.lastFrame < .milliseconds(100),
        !(token.floorClass.preempts && token.floorClass > burst.token.floorClass),
        let listener = listener(of: burst.token.id, seen, talker: other)
      else { continue }
      guard isKeeper[seen.node] else {
        return "starts \(short(token.id, conditions)) on its own while \(nodeName(listener)) "
          + "hears \(short(burst.token.id, conditions))"
      }
      rivals.append(
        Rival(token: token.id, live: burst.token.id, until: seen.at + .seconds(1)))
    }
    return nil
  }

  private func listener(of token: TokenID, _ seen: Observation, talker: Int) -> Int? {
    rendered.indices.first { listener in
      guard listener != seen.node, listener != talker, let last = rendered[listener] else {
        return false
      }
      return last.token == token && seen.at - last.at < .milliseconds(100)
    }
  }
}
