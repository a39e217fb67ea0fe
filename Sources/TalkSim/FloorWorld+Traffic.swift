import TalkCore
import TalkFloor
import TalkWire

/// What parties want done, and what the network carries.
extension FloorWorld {
  /// Bytes of a datagram at IP level, for links with a rate.
  private static var voiceSize: Int { 170 }
  private static var controlSize: Int { 320 }
  /// The most datagrams that wait in a stalled node's socket.
  private static var socketLimit: Int { 512 }

  // MARK: Effects

  /// Performs a party's effects, then arms its timer.
  mutating func perform(_ node: Int) {
    while let effect = hosts[node].party.nextEffect() { perform(effect, node) }
    arm(node)
  }

  private mutating func perform(_ effect: PartyEffect<Party.Message>, _ node: Int) {
    switch effect {
    case .send(let message, let audience): send(message, to: audience, from: node)
    case .startTransmit(let token): start(token, node)
    case .renumberTransmit(let token):
      guard let burst = hosts[node].burst else { break }
      note(node, .renumbered(from: burst.token.id, to: token))
      hosts[node].burst!.token = token
    case .stopTransmit(let token, let reason):
      hosts[node].burst = nil
      note(node, .stopped(token, reason))
      if reason == .limit || reason == .unheard { letGoSoon(node) }
    case .finishTransmit(let token):
      note(node, .finishing(token))
      guard hosts[node].burst != nil else { break }
      hosts[node].burst!.tailUntil = clock + Self.tail
      schedule(.tail, node, number: UInt64(hosts[node].burst!.number), after: Self.tail)
    case .talkerRenumbered(let old, let token):
      note(node, .talkerRenumbered(old.id, to: token))
    case .talker(let token): note(node, .talker(token))
    case .talkerDone(let token, let lastFrame):
      note(node, .talkerDone(token, lastFrame: lastFrame))
    case .talkerCut(let token): note(node, .talkerCut(token))
    case .queued(let place): note(node, .queued(place: place))
    case .denied(let reason):
      note(node, .denied(reason))
      letGoSoon(node)
    case .unheard(let reason):
      note(node, .unheard(reason))
      letGoSoon(node)
    case .limitWarning: note(node, .limitWarning)
    case .reserveTurns(let through):
      note(node, .reserving(through: through))
      let delay = generator.number(
        in: 1_000_000...max(mix.persistDelay.wholeNanoseconds, 1_000_001))
      queue.schedule(
        WorldEvent(
          kind: .onDisk, node: Int32(node), other: Int32(hosts[node].boots), number: through),
        at: clock + UInt64(delay))
    }
  }

  func event(_ kind: WorldEvent.Kind, _ node: Int, number: UInt64 = 0) -> WorldEvent {
    WorldEvent(kind: kind, node: Int32(node), number: number)
  }

  mutating func schedule(
    _ kind: WorldEvent.Kind, _ node: Int, number: UInt64 = 0, after delay: UInt64
  ) {
    queue.schedule(event(kind, node, number: number), at: clock + delay)
  }

  // MARK: Control

  mutating func send(_ message: Party.Message, to audience: FloorAudience, from node: Int) {
    let messageNote = Party.note(of: message)
    let toAll = audience == .everyone
    note(node, .sent(messageNote, toAll: toAll))
    let slot = pool.keep(message, messageNote)
    if trace != nil { traceMessage(node, toAll ? nil : audience, message, came: false) }
    switch audience {
    case .everyone:
      for other in 0..<count where other != node { carry(slot, from: node, to: other) }
    case .peer(let peer):
      if let other = index[peer], other != node { carry(slot, from: node, to: other) }
    }
    pool.dropIfUnused(slot)
  }

  private mutating func carry(_ slot: Int32, from: Int, to: Int) {
    let session = sessions[from * count + to]
    guard session != 0 else { return }
    // A copy of a datagram is dropped by the session's replay window before the floor sees it.
    let (first, _) = network.arrivals(
      from: from, to: to, size: Self.controlSize, now: clock)
    guard let first else { return }
    let event = WorldEvent(
      kind: .message, node: Int32(to), other: Int32(from), slot: slot, number: UInt64(session))
    pool.use(slot)
    queue.schedule(event, at: first)
  }

  mutating func arriveMessage(_ event: WorldEvent) {
    guard isOpen(event) else { return pool.drop(event.slot) }
    if hosts[Int(event.node)].isPaused { return wait(event) }
    takeMessage(event)
  }

  /// True when the receiver has the session that a datagram belongs to.
  func isOpen(_ event: WorldEvent) -> Bool {
    let to = Int(event.node)
    return hosts[to].isAlive
      && UInt64(sessions[to * count + Int(event.other)]) == event.number & 0xffff_ffff
  }

  mutating func wait(_ event: WorldEvent) {
    let node = Int(event.node)
    let isDatagram = [.message, .voice, .presence].contains(event.kind)
    let isFull = hosts[node].isSuspended || hosts[node].waiting.count >= Self.socketLimit
    if isDatagram, isFull {
      if event.kind == .message { pool.drop(event.slot) }
      return
    }
    hosts[node].waiting.append(event)
  }

  mutating func takeMessage(_ event: WorldEvent) {
    let (to, from) = (Int(event.node), Int(event.other))
    note(to, .received(pool.note(event.slot), from: from))
    if trace != nil {
      traceMessage(to, .peer(hosts[from].peer), pool.message(event.slot), came: true)
    }
    hosts[to].party.receive(
      pool.message(event.slot), from: hosts[from].peer, now: local(to))
    perform(to)
    heardFrom(from, at: to)
    if hosts[to].isLiar {
      remember(event.slot, at: to)
    }
    pool.drop(event.slot)
  }

  // MARK: Voice

  private mutating func start(_ token: Token, _ node: Int) {
    hosts[node].bursts += 1
    hosts[node].burst = Burst(token: token, number: hosts[node].bursts)
    note(node, .started(token))
    if hosts[node].personDown, !hosts[node].willLetGo {
      hosts[node].willLetGo = true
      schedule(.letGo, node, number: hosts[node].press, after: hosts[node].talk)
    }
    schedule(.frame, node, number: UInt64(hosts[node].bursts), after: 0)
  }

  mutating func sendFrame(_ event: WorldEvent) {
    let node = Int(event.node)
    guard let burst = hosts[node].burst, UInt64(burst.number) == event.number else { return }
    guard !hosts[node].isPaused else { return hosts[node].burst!.isOverdue = true }
    queue.schedule(event, at: clock + Self.frameStep)
    emitFrame(node, isLast: false)
    perform(node)
  }

  /// Sends the next frame of the running burst, if the party lets it go.
  private mutating func emitFrame(_ node: Int, isLast: Bool) {
    guard hosts[node].party.mayTransmit(now: local(node)), var burst = hosts[node].burst else {
      return
    }
    burst.frame += 1
    hosts[node].burst!.frame = burst.frame
    let mark = VoiceMark(
      turn: burst.token.id.turn, seat: burst.token.id.seat, floorClass: burst.token.floorClass,
      frame: burst.frame, isLast: isLast, burst: burst.number)
    note(
      node,
      .frameSent(burst.token, frame: burst.frame, isLast: isLast, burst: burst.number))
    spread(mark, from: node)
    hosts[node].party.transmitted(frame: burst.frame, now: local(node))
  }

  /// Sends a mark to everyone with whom there is a session.
  mutating func spread(_ mark: VoiceMark, from node: Int) {
    let place = nextMark & Self.markMask
    nextMark += 1
    marks[Int(place)] = mark
    for other in 0..<count where other != node {
      let session = sessions[node * count + other]
      guard session != 0 else { continue }
      let (first, _) = network.arrivals(
        from: node, to: other, size: Self.voiceSize, now: clock)
      guard let first else { continue }
      queue.schedule(
        WorldEvent(
          kind: .voice, node: Int32(other), other: Int32(node), slot: Int32(place),
          number: UInt64(session)), at: first)
    }
  }

  mutating func arriveVoice(_ event: WorldEvent) {
    guard isOpen(event) else { return }
    if hosts[Int(event.node)].isPaused { return wait(event) }
    takeVoice(event)
  }

  mutating func takeVoice(_ event: WorldEvent) {
    let (to, from) = (Int(event.node), Int(event.other))
    let mark = marks[Int(event.slot)]
    let rendered = hosts[to].party.hears(mark, from: hosts[from].peer, now: local(to))
    // The effects come first, as at a node: the frame may be the first of a new talker.
    perform(to)
    note(to, .heard(mark, from: from, rendered: rendered))
    heardFrom(from, at: to)
  }

  /// The tail of the burst is over: one last frame leaves, and the floor with it.
  mutating func endTail(_ event: WorldEvent) {
    let node = Int(event.node)
    guard let burst = hosts[node].burst, UInt64(burst.number) == event.number,
      burst.tailUntil != nil
    else { return }
    guard !hosts[node].isPaused else { return wait(event) }
    emitFrame(node, isLast: true)
    let last = hosts[node].burst?.frame ?? 0
    hosts[node].burst = nil
    hosts[node].party.transmitFinished(lastFrame: last, now: local(node))
    perform(node)
  }
}
