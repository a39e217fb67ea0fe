package import TalkCore
package import TalkCrypto
package import TalkFloor
package import TalkWire

/// Floor machines on a simulated network, without sessions or sound: voice is a marked frame every
/// 20 ms. One seed repeats a run bit for bit.
package struct FloorMesh {
  /// A frame that somebody played.
  package struct Rendering: Hashable, Sendable {
    /// When it arrived.
    package var at: Instant
    /// Which node played it.
    package var listener: Int
    /// Under which token.
    package var token: TokenID
    /// Its number in the burst, from 1.
    package var frame: UInt32
  }

  /// Something that happened at a node, for tests to look at.
  package struct Happening: Sendable {
    /// When.
    package var at: Instant
    /// Where.
    package var node: Int
    /// What; sends are left out.
    package var effect: FloorEffect
  }

  private enum Event {
    case message(FloorMessage, from: Int, to: Int)
    case voice(TokenID, FloorClass, frame: UInt32, from: Int, to: Int)
    case frame(node: Int, token: TokenID)
    case presence
    case press(node: Int, FloorClass)
    case release(node: Int)
    case reserved(node: Int, through: UInt64)
    case crash(node: Int)
    case stall(node: Int, Duration)
  }

  /// How the network treats datagrams; may be changed between `run` calls.
  package var links: LinkModel
  /// The machines, one a node.
  package private(set) var machines: [FloorMachine] = []
  /// The time.
  package private(set) var now = Instant(nanoseconds: 1_000_000_000)
  /// Every frame that was played, in order.
  package private(set) var renderings: [Rendering] = []
  /// Everything that happened besides sends, in order.
  package private(set) var happenings: [Happening] = []
  /// How many group sends and single sends of control there were.
  package private(set) var controlSends = 0
  /// The identities, one a node.
  package let identities: [Identity]

  private var generator: SeededGenerator
  private var heap = EventHeap<Event>()
  private var alive: [Bool] = []
  private var stalledUntil: [Instant] = []
  private var transmitting: [(token: Token, frame: UInt32, finishing: Bool)?] = []

  /// `count` nodes that all see one another; node 0 has created the channel.
  package init(count: Int, seed: UInt64, links: LinkModel = LinkModel()) {
    self.links = links
    generator = SeededGenerator(seed: seed)
    let channel = ChannelID(Bytes16(high: 1, low: seed))
    var identities: [Identity] = []
    for index in 0..<count {
      let seedBytes = [UInt8](repeating: UInt8(truncatingIfNeeded: index + 1), count: 32)
      identities.append(Identity.forSimulation(seed: seedBytes, salt: seed))
    }
    self.identities = identities
    for index in 0..<count {
      var machine = FloorMachine(
        identity: identities[index], channel: channel, timers: FloorTimers(), reservedTurn: 1_024,
        firstRequest: UInt64(index) << 32, now: now)
      for (other, identity) in identities.enumerated() where other != index {
        let member = FloorMember(
          signingKey: identity.publicIdentity.signing, classes: 0b1111)
        machine.setMember(identity.publicIdentity.peerID, member)
      }
      machines.append(machine)
      alive.append(true)
      stalledUntil.append(.zero)
      transmitting.append(nil)
    }
    machines[0].becomeFirstKeeper(now: now)
    for index in 0..<count {
      for (other, identity) in identities.enumerated() where other != index {
        machines[index].setPresent(identity.publicIdentity.peerID, true, now: now)
      }
      perform(index)
    }
    heap.schedule(.presence, at: now)
  }

  // MARK: Workload

  /// Presses a node's key after `delay`.
  package mutating func press(
    _ node: Int, _ floorClass: FloorClass = .normal, after delay: Duration = .zero
  ) {
    heap.schedule(.press(node: node, floorClass), at: now + delay)
  }

  /// Lets a node's key go after `delay`.
  package mutating func release(_ node: Int, after delay: Duration = .zero) {
    heap.schedule(.release(node: node), at: now + delay)
  }

  /// Kills a node after `delay`, without a word.
  package mutating func crash(_ node: Int, after delay: Duration = .zero) {
    heap.schedule(.crash(node: node), at: now + delay)
  }

  /// Lets a node's loop stand still for `length`.
  package mutating func stall(_ node: Int, for length: Duration, after delay: Duration = .zero) {
    heap.schedule(.stall(node: node, length), at: now + delay)
  }

  /// Two nodes lose their session with each other.
  package mutating func separate(_ left: Int, _ right: Int) {
    for (node, other) in [(left, right), (right, left)] {
      machines[node].setPresent(id(other), false, now: now)
      perform(node)
    }
  }

  /// The roster no longer allows `node` a class, as `holder` knows it.
  package mutating func forbid(_ node: Int, _ floorClass: FloorClass, at holder: Int) {
    let key = identities[node].publicIdentity.signing
    let member = FloorMember(signingKey: key, classes: 0b1111 & ~(1 << floorClass.rawValue))
    machines[holder].setMember(id(node), member)
  }

  /// Runs for `length` of virtual time.
  package mutating func run(for length: Duration) {
    let end = now + length
    while true {
      var next = heap.nextTime ?? end
      for index in machines.indices where alive[index] && !isStalled(index) {
        if let deadline = machines[index].deadline, deadline < next { next = max(deadline, now) }
      }
      guard next < end else { break }
      now = max(now, next)
      while let (_, event) = heap.pop(until: now) { handle(event) }
      for index in machines.indices where alive[index] && !isStalled(index) {
        guard let deadline = machines[index].deadline, deadline <= now else { continue }
        machines[index].wake(now: now)
        perform(index)
      }
    }
    now = end
  }

  private func isStalled(_ node: Int) -> Bool { stalledUntil[node] > now }

  // MARK: Events

  private mutating func handle(_ event: Event) {
    switch event {
    case .message(let message, let from, let to):
      input(to, event) { machine, mesh in
        machine.receive(message, from: mesh.id(from), now: mesh.now)
      }
    case .voice(let token, let floorClass, let frame, let from, let to):
      input(to, event) { machine, mesh in
        let heard = machine.hears(
          turn: token.turn, seat: token.seat, floorClass: floorClass, from: mesh.id(from),
          now: mesh.now)
        guard let heard else { return }
        mesh.renderings.append(
          Rendering(at: mesh.now, listener: to, token: heard.id, frame: frame))
      }
    case .frame(let node, let token): sendFrame(node, token)
    case .presence:
      heap.schedule(.presence, at: now + .seconds(1))
      for node in machines.indices where alive[node] { machines[node].memberHearsUs(now: now) }
    case .press(let node, let floorClass):
      input(node, event) { $0.press(floorClass: floorClass, now: $1.now) }
    case .release(let node): input(node, event) { $0.release(now: $1.now) }
    case .reserved(let node, let turn):
      input(node, event) { machine, _ in
        machine.turnsReserved(through: turn)
      }
    case .crash(let node):
      alive[node] = false
      transmitting[node] = nil
    case .stall(let node, let length): stalledUntil[node] = now + length
    }
  }

  private mutating func input(
    _ node: Int, _ event: Event, _ body: (inout FloorMachine, inout FloorMesh) -> Void
  ) {
    guard alive[node] else { return }
    guard !isStalled(node) else {
      heap.schedule(event, at: stalledUntil[node])
      return
    }
    var machine = machines[node]
    body(&machine, &self)
    machines[node] = machine
    perform(node)
  }

  private func id(_ node: Int) -> PeerID { identities[node].publicIdentity.peerID }

  private func node(_ peer: PeerID) -> Int? { identities.indices.first { id($0) == peer } }

  private mutating func sendFrame(_ node: Int, _ token: TokenID) {
    guard alive[node], var burst = transmitting[node], burst.token.id == token else { return }
    guard !isStalled(node) else {
      heap.schedule(.frame(node: node, token: token), at: stalledUntil[node])
      return
    }
    if machines[node].mayTransmit(now: now) {
      burst.frame += 1
      for other in machines.indices where other != node {
        deliver(
          .voice(
            burst.token.id, burst.token.floorClass, frame: burst.frame, from: node, to: other),
          from: node, to: other)
      }
      machines[node].transmitted(frame: burst.frame, now: now)
      transmitting[node] = burst
      if burst.finishing {
        transmitting[node] = nil
        machines[node].transmitFinished(lastFrame: burst.frame, now: now)
      }
    }
    if transmitting[node] != nil {
      heap.schedule(.frame(node: node, token: token), at: now + .milliseconds(20))
    }
    perform(node)
  }

  private mutating func deliver(_ event: Event, from: Int, to: Int) {
    for arrival in links.arrivals(from: from, to: to, now: now, generator: &generator) {
      heap.schedule(event, at: arrival)
    }
  }

  private mutating func perform(_ node: Int) {
    while let effect = machines[node].effects.popFirst() {
      switch effect {
      case .send(let message, .peer(let peer)):
        controlSends += 1
        if let to = self.node(peer) {
          deliver(.message(message, from: node, to: to), from: node, to: to)
        }
      case .send(let message, .everyone):
        controlSends += 1
        for other in machines.indices where other != node {
          deliver(.message(message, from: node, to: other), from: node, to: other)
        }
      case .startTransmit(let token):
        transmitting[node] = (token, 0, false)
        heap.schedule(.frame(node: node, token: token.id), at: now)
      case .renumberTransmit(let token):
        guard let old = transmitting[node] else { break }
        transmitting[node] = (token, old.frame, old.finishing)
        heap.schedule(.frame(node: node, token: token.id), at: now)
      case .stopTransmit: transmitting[node] = nil
      case .finishTransmit: transmitting[node]?.finishing = true
      case .reserveTurns(let through):
        heap.schedule(.reserved(node: node, through: through), at: now + .milliseconds(5))
      default: break
      }
      if case .send = effect { continue }
      happenings.append(Happening(at: now, node: node, effect: effect))
    }
  }
}
