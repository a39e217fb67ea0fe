import TalkCore
import TalkWire

/// What the floor sees of sessions and presence, modelled as `TalkMesh.Presence` and `TalkNode`
/// have it: keepalives each second (spread out beyond 32 members), away after 3.5 s of silence, a
/// session that ends after 20 s of absence, a handshake anew after a crash or a suspension.
extension FloorWorld {
  private static var silence: UInt64 { 3_500_000_000 }
  private static var forgetAway: UInt64 { 20_000_000_000 }
  private static var presenceSize: Int { 110 }

  /// The time between keepalives to one peer.
  private var turnTime: UInt64 {
    count <= 32 ? 1_000_000_000 : 1_000_000_000 * UInt64(count - 1) / 31
  }

  private var silenceLimit: UInt64 {
    count <= 32 ? Self.silence : turnTime * 3 / 2 + Self.silence
  }

  /// Every half second: sends keepalives, and judges who is away.
  mutating func tick(_ node: Int) {
    schedule(.tick, node, after: 500_000_000)
    guard hosts[node].isAlive, !hosts[node].isPaused else { return }
    hosts[node].ticks += 1
    for peer in 0..<count where peer != node && sessions[node * count + peer] != 0 {
      let pair = node * count + peer
      if keepaliveIsDue(node, peer) { sendPresence(from: node, to: peer) }
      let silent = clock - lastHeard[pair]
      if present[pair], silent > silenceLimit {
        setPresent(peer, false, at: node)
      } else if !present[pair], silent > silenceLimit + Self.forgetAway {
        sessions[pair] = 0
        schedule(.handshake, node, peer: peer, after: 1_000_000_000)
      }
    }
  }

  private func keepaliveIsDue(_ node: Int, _ peer: Int) -> Bool {
    guard count > 32 else { return hosts[node].ticks % 2 == 0 }
    let period = max(2, turnTime / 500_000_000)
    return (hosts[node].ticks &+ UInt64(peer)) % period == 0
  }

  private mutating func schedule(
    _ kind: WorldEvent.Kind, _ node: Int, peer: Int, after delay: UInt64
  ) {
    queue.schedule(
      WorldEvent(kind: kind, node: Int32(node), other: Int32(peer)), at: clock + delay)
  }

  private mutating func sendPresence(from node: Int, to peer: Int) {
    let session = sessions[node * count + peer]
    guard session != 0 else { return }
    let (first, _) = network.arrivals(
      from: node, to: peer, size: Self.presenceSize, now: clock)
    guard let first else { return }
    let pair = node * count + peer
    let hears = present[pair] && clock - lastHeard[pair] <= silenceLimit
    queue.schedule(
      WorldEvent(
        kind: .presence, node: Int32(peer), other: Int32(node), slot: hears ? 1 : 0,
        number: UInt64(session)), at: first)
  }

  mutating func arrivePresence(_ event: WorldEvent) {
    guard isOpen(event) else { return }
    guard !hosts[Int(event.node)].isPaused else { return wait(event) }
    takePresence(event)
  }

  mutating func takePresence(_ event: WorldEvent) {
    let (to, from) = (Int(event.node), Int(event.other))
    note(to, .presence(from: from, hearsUs: event.slot == 1))
    if event.slot == 1 { hosts[to].party.memberHearsUs(now: local(to)) }
    // The first presence after an absence is answered, so that the peer knows that it is heard.
    if !present[to * count + from] { sendPresence(from: to, to: from) }
    heardFrom(from, at: to)
    perform(to)
  }

  /// Something authenticated came.
  mutating func heardFrom(_ peer: Int, at node: Int) {
    lastHeard[node * count + peer] = clock
    if !present[node * count + peer] { setPresent(peer, true, at: node) }
  }

  mutating func setPresent(_ peer: Int, _ isPresent: Bool, at node: Int) {
    present[node * count + peer] = isPresent
    note(node, .member(peer, present: isPresent))
    hosts[node].party.setPresent(hosts[peer].peer, isPresent, now: local(node))
    perform(node)
  }

  // MARK: Handshakes

  /// A node that started or awoke calls everyone.
  mutating func callEveryone(_ node: Int) {
    for peer in 0..<count where peer != node {
      let delay = UInt64(generator.number(in: 5_000_000...200_000_000))
      schedule(.handshake, node, peer: peer, after: delay)
    }
  }

  /// Two nodes that reach each other get a session; else they try again in a second.
  mutating func shakeHands(_ node: Int, _ peer: Int) {
    guard hosts[node].isAlive, sessions[node * count + peer] == 0 else { return }
    guard hosts[peer].isAlive, !hosts[peer].isPaused, !hosts[node].isPaused,
      network.passes(from: node, to: peer), network.passes(from: peer, to: node)
    else { return schedule(.handshake, node, peer: peer, after: 1_000_000_000) }
    let pairs = (node * count + peer, peer * count + node)
    nextSession += 1
    sessions[pairs.0] = nextSession
    sessions[pairs.1] = nextSession
    for (own, other) in [(node, peer), (peer, node)] {
      lastHeard[own * count + other] = clock
      setPresent(other, true, at: own)
      sendPresence(from: own, to: other)
    }
  }

  /// A node's keys are gone: it crashed, or was away too long.
  mutating func dropSessions(_ node: Int) {
    for peer in 0..<count where peer != node {
      sessions[node * count + peer] = 0
      present[node * count + peer] = false
    }
  }
}
