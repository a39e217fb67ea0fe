import TalkCore
import TalkFloor
import TalkWire

/// The last lines of what happened, for people: only kept when a failing run is run again.
package struct TraceRing: Sendable {
  private var lines: [String] = []
  private var next = 0
  private let limit: Int

  /// Keeps the last `limit` lines.
  package init(limit: Int) { self.limit = limit }

  mutating func add(_ line: String) {
    if lines.count < limit {
      lines.append(line)
    } else {
      lines[next] = line
      next = (next + 1) % limit
    }
  }

  /// The lines, oldest first.
  package var text: [String] { Array(lines[next...] + lines[..<next]) }
}

/// Names for the nodes of a trace: a to z, then n26 and so on.
package func nodeName(_ node: Int) -> String {
  guard node < 26 else { return "n\(node)" }
  return String(UnicodeScalar(UInt8(97 + node)))
}

extension FloorWorld {
  private var stamp: String {
    let micros = (clock - Self.start) / 1_000
    let fraction = String(micros % 1_000)
    return "\(micros / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
  }

  private func name(_ peer: PeerID) -> String { index[peer].map(nodeName) ?? peer.short }

  private func text(_ token: Token) -> String {
    let mark = token.floorClass == .normal ? "" : "!\(token.floorClass.rawValue)"
    return "\(token.id.turn)/\(name(token.id.holder))\(mark)"
  }

  mutating func traceMessage(
    _ node: Int, _ peer: FloorAudience?, _ message: Party.Message, came: Bool
  ) {
    var other = "all"
    if case .peer(let peer) = peer { other = name(peer) }
    let words = Party.describe(message, name: name)
    let line = "\(stamp) \(nodeName(node)) \(came ? "◂" : "▸") \(other): \(words)"
    trace?.add(line)
  }

  /// One line for an observation; frames and views, which are many, only where they tell something.
  mutating func traceLine(_ node: Int, _ what: Observation.What) {
    let words: String? =
      switch what {
      case .keyDown(let floorClass, let talk):
        "key down, \(floorClass), wants \(talk.wholeNanoseconds / 1_000_000) ms"
      case .keyUp: "key up"
      case .pressed: "press"
      case .released: "release"
      case .started(let token): "STARTS \(text(token))"
      case .renumbered(let old, let token): "RENUMBERS \(old.turn) to \(text(token))"
      case .stopped(let token, let reason): "STOPS \(text(token)): \(reason)"
      case .finishing(let token): "tail of \(text(token))"
      case .frameSent(let token, let frame, let isLast, _):
        frame < 3 || isLast ? "frame \(frame)\(isLast ? ", last," : "") of \(text(token))" : nil
      case .heard(let mark, let from, let rendered):
        rendered != nil && mark.frame > 2
          ? nil
          : "\(rendered == nil ? "refuses" : "plays") frame \(mark.frame) of "
            + "\(mark.turn)/\(nodeName(from))"
      case .talkerRenumbered(let old, let token):
        "hears turn \(old.turn) go on as \(text(token))"
      case .talker(let token): "hears talker \(text(token))"
      case .talkerDone(let token, let frame):
        "talker \(text(token)) done\(frame == .max ? "" : " after \(frame)")"
      case .talkerCut(let token): "talker \(text(token)) cut"
      case .queued(let place): "queued at \(place)"
      case .denied(let reason): "denied: \(reason)"
      case .unheard(let reason): "unheard: \(reason)"
      default: rareWords(what)
      }
    guard let words else { return }
    let line = "\(stamp) \(nodeName(node)) \(words)"
    trace?.add(line)
  }

  private func rareWords(_ what: Observation.What) -> String? {
    switch what {
    case .limitWarning: "limit warning"
    case .member(let peer, let present): "\(nodeName(peer)) \(present ? "is here" : "is away")"
    case .crashed: "CRASHES"
    case .restarted(let reserved): "RESTARTS above turn \(reserved)"
    case .stalled: "loop STANDS STILL"
    case .resumed(let late): "loop goes on, \(late.wholeNanoseconds / 1_000_000) ms late"
    case .reserving(let turn): "reserves turns through \(turn)"
    case .reserved(let turn): "turns through \(turn) are on disk"
    case .linkDown(let to): "way to \(nodeName(to)) CUT"
    case .linkUp(let to): "way to \(nodeName(to)) mended"
    case .lied(let kind): "LIES (\(kind))"
    case .draining: "— the script is over —"
    default: nil
    }
  }
}
