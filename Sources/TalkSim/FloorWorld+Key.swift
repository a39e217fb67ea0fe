import TalkCore
import TalkWire

/// People and their keys: the finger, and what the node takes the key for.
///
/// Without lost edges the node learns of each edge at once. With them a source tells its level at
/// 5 Hz, edges and levels get lost, and the node lets go after 500 ms without one (floor.md: "Key
/// state is a level").
extension FloorWorld {
  /// How long capture goes on after the key went up, as `Uplink` does.
  static var tail: UInt64 { 40_000_000 }
  private static var assertion: UInt64 { 200_000_000 }
  private static var lifetime: UInt64 { 500_000_000 }
  /// How long a person goes on pressing once told that it is of no use.
  private static var reaction: UInt64 { 300_000_000 }

  mutating func press(
    _ node: Int, _ floorClass: FloorClass, talk: Duration, patience: Duration
  ) {
    guard hosts[node].isAlive, !hosts[node].personDown, !isDraining else { return }
    hosts[node].personDown = true
    hosts[node].press += 1
    hosts[node].wanted = floorClass
    hosts[node].talk = UInt64(talk.wholeNanoseconds)
    hosts[node].willLetGo = false
    note(node, .keyDown(floorClass, talk: talk))
    tellLevel(node, down: true)
    if mix.lostEdges > 0 {
      schedule(.assertKey, node, number: hosts[node].press, after: Self.assertion)
    }
    schedule(
      .patience, node, number: hosts[node].press, after: UInt64(patience.wholeNanoseconds))
  }

  /// The person lets go soon, having seen or heard why pressing on is of no use.
  mutating func letGoSoon(_ node: Int) {
    guard hosts[node].personDown else { return }
    schedule(.letGo, node, number: hosts[node].press, after: Self.reaction)
  }

  mutating func personLetsGo(_ node: Int) {
    guard hosts[node].personDown else { return }
    hosts[node].personDown = false
    note(node, .keyUp)
    tellLevel(node, down: false)
  }

  /// The source tells the node its level, if that is not lost.
  private mutating func tellLevel(_ node: Int, down: Bool) {
    guard !generator.chance(mix.lostEdges) else { return }
    takeLevel(
      WorldEvent(
        kind: .level, node: Int32(node), other: down ? 1 : 0, number: hosts[node].boots))
  }

  mutating func handleKey(_ event: WorldEvent) {
    let node = Int(event.node)
    switch event.kind {
    case .assertKey:
      guard hosts[node].personDown, hosts[node].press == event.number else { return }
      tellLevel(node, down: true)
      queue.schedule(event, at: clock + Self.assertion)
    case .patience:
      guard hosts[node].press == event.number, !hosts[node].willLetGo else { return }
      personLetsGo(node)
    case .letGo:
      guard hosts[node].press == event.number else { return }
      personLetsGo(node)
    case .keyExpires:
      guard hosts[node].keyDown, hosts[node].keyExpires <= clock else { return }
      guard !hosts[node].isPaused else { return wait(event) }
      keyGoesUp(node)
    default: takeLevel(event)
    }
  }

  private mutating func takeLevel(_ event: WorldEvent) {
    let node = Int(event.node)
    guard hosts[node].isAlive, hosts[node].boots == event.number else { return }
    guard !hosts[node].isPaused else { return wait(event) }
    guard event.other == 1 else { return keyGoesUp(node) }
    if mix.lostEdges > 0 {
      hosts[node].keyExpires = clock + Self.lifetime
      schedule(.keyExpires, node, after: Self.lifetime)
    }
    guard !hosts[node].keyDown else { return }
    hosts[node].keyDown = true
    if let burst = hosts[node].burst, burst.tailUntil != nil {
      // A new press within the tail of the last burst: that burst ends first.
      endTail(self.event(.tail, node, number: UInt64(burst.number)))
    }
    note(node, .pressed(hosts[node].wanted))
    hosts[node].party.press(hosts[node].wanted, now: local(node))
    perform(node)
  }

  private mutating func keyGoesUp(_ node: Int) {
    guard hosts[node].keyDown else { return }
    hosts[node].keyDown = false
    note(node, .released)
    hosts[node].party.release(now: local(node))
    perform(node)
  }
}
