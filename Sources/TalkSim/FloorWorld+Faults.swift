import TalkCore
import TalkWire

/// What the script does to nodes and links, and what a node's disk does.
extension FloorWorld {
  /// A loop that ran this much late says so (architecture.md, "The loop contract").
  private static var lateness: UInt64 { 100_000_000 }
  /// An absence after which a node drops its sessions (`Node.longAbsence`).
  private static var longAbsence: UInt64 { 10_000_000_000 }

  mutating func begin(_ what: Script.What) {
    guard !isDraining else { return }
    switch what {
    case .press(let node, let floorClass, let talk, let patience):
      press(node, floorClass, talk: talk, patience: patience)
    case .crash(let node, let down): crash(node, down: down)
    case .crashTalker(let down):
      guard let talker = hosts.indices.first(where: { hosts[$0].burst != nil }) else { return }
      crash(talker, down: down)
    case .stall(let node, let length): pause(node, for: length, suspends: false)
    case .suspend(let node, let length): pause(node, for: length, suspends: true)
    case .oneWay(let from, let to, let length):
      cut(from, to)
      endLater(length, from: from, to: to)
    case .outage(let node, let length):
      for other in 0..<count where other != node {
        for (from, to) in [(node, other), (other, node)] {
          cut(from, to)
          endLater(length, from: from, to: to)
        }
      }
    case .fade(let node, let length):
      for other in 0..<count where other != node {
        cut(other, node)
        endLater(length, from: other, to: node)
      }
    case .partition(let mask, let length):
      for left in 0..<count where left < 64 && mask >> UInt64(left) & 1 == 1 {
        for right in 0..<count where right >= 64 || mask >> UInt64(right) & 1 == 0 {
          for (from, to) in [(left, right), (right, left)] {
            cut(from, to)
            endLater(length, from: from, to: to)
          }
        }
      }
    }
  }

  // MARK: Links

  private mutating func cut(_ from: Int, _ to: Int) {
    if network.cut(from: from, to: to) { note(from, .linkDown(to: to)) }
  }

  private mutating func endLater(_ length: Duration, from: Int, to: Int) {
    queue.schedule(
      WorldEvent(kind: .itemEnd, node: Int32(from), other: Int32(to)),
      at: clock + UInt64(length.wholeNanoseconds))
  }

  mutating func mend(_ event: WorldEvent) {
    let (from, to) = (Int(event.node), Int(event.other))
    if network.mend(from: from, to: to) { note(from, .linkUp(to: to)) }
  }

  // MARK: Crashes

  private mutating func crash(_ node: Int, down: Duration) {
    guard hosts[node].isAlive, !hosts[node].isPaused else { return }
    note(node, .crashed)
    hosts[node].isAlive = false
    hosts[node].burst = nil
    hosts[node].armed = .max
    hosts[node].personDown = false
    hosts[node].keyDown = false
    hosts[node].press += 1
    forgetHeard(node)
    dropSessions(node)
    schedule(.restart, node, after: UInt64(down.wholeNanoseconds))
  }

  mutating func restart(_ node: Int) {
    hosts[node].boots += 1
    hosts[node].isAlive = true
    var setup = setups[node]
    setup.reservedTurn = hosts[node].onDisk
    setup.firstRequest = (hosts[node].boots + 1) << 32
    setup.isFirstKeeper = false
    setup.seed &+= hosts[node].boots
    setup.now = local(node)
    hosts[node].party = Party(setup)
    note(node, .restarted(reserved: hosts[node].onDisk))
    perform(node)
    callEveryone(node)
  }

  // MARK: Loops that stand still

  private mutating func pause(_ node: Int, for length: Duration, suspends: Bool) {
    guard hosts[node].isAlive, !hosts[node].isPaused else { return }
    note(node, .stalled)
    hosts[node].isPaused = true
    hosts[node].isSuspended = suspends
    hosts[node].pausedSince = clock
    hosts[node].duePaused = hosts[node].armed
    hosts[node].armed = .max
    schedule(.resume, node, after: UInt64(length.wholeNanoseconds))
  }

  /// The loop runs again: it drains its sockets, then says how late it is, then does what is due.
  mutating func resume(_ event: WorldEvent) {
    let node = Int(event.node)
    guard hosts[node].isPaused else { return }
    hosts[node].isPaused = false
    let due = max(hosts[node].duePaused, hosts[node].pausedSince)
    let late = due < clock ? clock - due : 0
    note(node, .resumed(late: .nanoseconds(Int64(late))))
    let waiting = hosts[node].waiting
    hosts[node].waiting.removeAll(keepingCapacity: true)
    for event in waiting { handleLate(event) }
    if late >= Self.longAbsence {
      awake(node)
    } else if late > Self.lateness {
      note(node, .excused(.nanoseconds(Int64(late))))
      hosts[node].party.loopWasLate(by: .nanoseconds(Int64(late)))
      for pair in node * count..<(node + 1) * count {
        lastHeard[pair] = min(clock, lastHeard[pair] + late)
      }
    }
    hosts[node].party.wake(now: local(node))
    perform(node)
    if hosts[node].burst?.isOverdue == true {
      hosts[node].burst!.isOverdue = false
      schedule(.frame, node, number: UInt64(hosts[node].burst!.number), after: 0)
    }
  }

  private mutating func handleLate(_ event: WorldEvent) {
    switch event.kind {
    case .message:
      if isOpen(event) { takeMessage(event) } else { pool.drop(event.slot) }
    case .voice: if isOpen(event) { takeVoice(event) }
    case .presence: if isOpen(event) { takePresence(event) }
    case .tail: endTail(event)
    case .diskTold: persist(event)
    default: handleKey(event)
    }
  }

  /// After a long absence every session key is dropped, and the members are called anew.
  private mutating func awake(_ node: Int) {
    for peer in 0..<count where peer != node && sessions[node * count + peer] != 0 {
      sessions[node * count + peer] = 0
      setPresent(peer, false, at: node)
    }
    callEveryone(node)
  }

  // MARK: The disk

  /// A reserve reaches the disk; a little later the node is told. One in ten nodes fails once.
  mutating func persist(_ event: WorldEvent) {
    let node = Int(event.node)
    guard hosts[node].isAlive, Int32(hosts[node].boots) == event.other else { return }
    if event.kind == .onDisk {
      guard !hosts[node].failsNextPersist else {
        hosts[node].failsNextPersist = false
        hosts[node].party.reserveFailed()
        return perform(node)
      }
      hosts[node].onDisk = max(hosts[node].onDisk, event.number)
      var told = event
      told.kind = .diskTold
      queue.schedule(told, at: clock + UInt64(generator.number(in: 0...2_000_000)))
      return
    }
    guard !hosts[node].isPaused else { return wait(event) }
    note(node, .reserved(through: event.number))
    hosts[node].party.turnsReserved(through: event.number)
    perform(node)
  }
}
