import TalkCore
import TalkFloor
import TalkWire

/// What a lying member does beside taking part: it is authenticated as itself and no more.
extension FloorWorld {
  private static var memory: Int { 16 }
  /// The kinds of lies that need no message of their own: numbered behind those of `Lie.Kind`.
  private static var replayedMessage: UInt8 { 100 }
  private static var replayedFrame: UInt8 { 101 }
  private static var foreignFrame: UInt8 { 102 }
  private static var inflatedFrame: UInt8 { 103 }

  /// A liar keeps some of the messages that came to it, to replay them.
  mutating func remember(_ slot: Int32, at node: Int) {
    if let token = pool.note(slot).token { hosts[node].heardToken = token }
    guard generator.chance(0.2) else { return }
    pool.use(slot)
    hosts[node].heardMessages.append(slot)
    if hosts[node].heardMessages.count > Self.memory {
      pool.drop(hosts[node].heardMessages.removeFirst())
    }
  }

  mutating func forgetHeard(_ node: Int) {
    for slot in hosts[node].heardMessages { pool.drop(slot) }
    hosts[node].heardMessages.removeAll()
  }

  mutating func tellLie(_ node: Int) {
    guard !isDraining else { return }
    schedule(
      .lie, node, after: UInt64(generator.exponential(mean: 400_000_000, from: 1_000_000)))
    guard hosts[node].isAlive, !hosts[node].isPaused, let token = hosts[node].heardToken else {
      return
    }
    switch generator.number(in: 0...9) {
    case 0...4:
      let kinds = Lie.Kind.allCases
      let kind = kinds[Int(generator.number(in: 0...Int64(kinds.count - 1)))]
      let lie = Lie(
        kind: kind, liar: hosts[node].peer, token: token, number: generator.next() >> 8)
      guard let message = Party.lie(lie) else { return }
      note(node, .lied(kind.rawValue))
      send(message, to: .everyone, from: node)
    case 5...6: replay(node)
    case 7:
      tellFrame(
        token.id.turn, token.floorClass, Self.foreignFrame, from: node)
    case 8:
      guard let mark = hosts[node].ownMarks.first else { return }
      note(node, .lied(Self.replayedFrame))
      spread(mark, from: node)
    default:
      let jump = UInt64(1) << UInt64(generator.number(in: 0...47))
      let floorClass = FloorClass(rawValue: UInt8(generator.number(in: 0...3)))!
      tellFrame(
        min(token.id.turn + jump, Token.turnLimit), floorClass, Self.inflatedFrame, from: node)
    }
  }

  private mutating func replay(_ node: Int) {
    guard !hosts[node].heardMessages.isEmpty else { return }
    let last = Int64(hosts[node].heardMessages.count - 1)
    let slot = hosts[node].heardMessages[Int(generator.number(in: 0...last))]
    note(node, .lied(Self.replayedMessage))
    send(pool.message(slot), to: .everyone, from: node)
  }

  private mutating func tellFrame(
    _ turn: UInt64, _ floorClass: FloorClass, _ kind: UInt8, from node: Int
  ) {
    let mark = VoiceMark(
      turn: turn, seat: 0, floorClass: floorClass, frame: UInt32(generator.number(in: 1...500)),
      isLast: false, burst: .max)
    note(node, .lied(kind))
    spread(mark, from: node)
    hosts[node].ownMarks.append(mark)
    if hosts[node].ownMarks.count > Self.memory { hosts[node].ownMarks.removeFirst() }
  }
}
