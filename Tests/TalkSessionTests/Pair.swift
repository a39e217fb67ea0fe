import TalkCore
import TalkCrypto
import TalkWire

@testable import TalkSession

/// A few session tables on a simulated network, in virtual time: it jumps from one wake-up or
/// arrival to the next, so that minutes take milliseconds. All chance follows from the seed.
final class Pair {
  /// What the network does to each datagram.
  struct Network {
    var delay = Duration.milliseconds(5)
    var jitter = Duration.zero
    var loss = 0.0
    var duplicates = 0.0
    /// Decides about single datagrams: false loses it.
    var passes: (_ datagram: [UInt8], _ from: Endpoint) -> Bool = { _, _ in true }
  }

  /// A datagram on its way.
  struct Flight {
    var at: Instant
    var from: Endpoint
    var to: Endpoint
    var bytes: [UInt8]
  }

  /// What a node does with `.auth`.
  enum Answer { case accept, refuse, leave }

  /// One node with its table, and what happened to it.
  final class Node {
    var table: SessionTable
    var endpoint: Endpoint
    var entropy = EntropyPool()
    let slab = Slab()
    var answer: (Introduction) -> Answer = { _ in .accept }
    var log: [(at: Instant, event: SessionEvent)] = []
    /// Bodies of `.data` and `.admit`, in order.
    var bodies: [(kind: Kind, bytes: [UInt8])] = []
    /// Datagrams that it sent.
    var sent: [Flight] = []

    init(table: SessionTable, endpoint: Endpoint) {
      self.table = table
      self.endpoint = endpoint
    }

    var events: [SessionEvent] { log.map(\.event) }
    var ups: [LinkID] {
      events.compactMap { if case .up(let link, _) = $0 { link } else { nil } }
    }
    var downs: [DownReason] {
      events.compactMap { if case .down(_, let reason) = $0 { reason } else { nil } }
    }
    var peer: PeerID { table.identity.publicIdentity.peerID }
  }

  static let channel = ChannelID(Bytes16(high: 0x1234, low: 0x5678))
  static let keys = ChannelKeys(
    secret: [UInt8](repeating: 7, count: 32), memory: .ordinary)!

  var network: Network
  var now = Instant(nanoseconds: 1_000_000_000_000)
  var generator: SeededGenerator
  var nodes: [Node] = []
  private(set) var flights: [Flight] = []

  /// Two nodes in one channel.
  init(seed: UInt64 = 1, _ network: Network = Network()) {
    self.network = network
    generator = SeededGenerator(seed: seed)
    addNode(1)
    addNode(2)
  }

  var a: Node { nodes[0] }
  var b: Node { nodes[1] }

  static func identity(_ number: UInt64) -> Identity {
    Identity.forSimulation(seed: [UInt8](repeating: 9, count: 32), salt: number)
  }

  static func endpoint(_ number: UInt64) -> Endpoint {
    Endpoint(ipv4: 0x0a00_0000 + UInt32(number), port: 41_717)
  }

  /// Adds a node; `identity` and `at` are for copies and for many at one address.
  @discardableResult
  func addNode(
    _ number: UInt64, identity: UInt64? = nil, at endpoint: Endpoint? = nil, boot: UInt64? = nil,
    epoch: UInt64 = 0, keys: ChannelKeys = Pair.keys
  ) -> Node {
    var table = SessionTable(
      identity: Self.identity(identity ?? number), boot: boot ?? number,
      nickname: "node \(number)", seed: generator.next())
    table.addChannel(Self.channel, epoch: epoch, keys: keys)
    let node = Node(table: table, endpoint: endpoint ?? Self.endpoint(number))
    nodes.append(node)
    return node
  }

  func refill(_ node: Node) {
    node.entropy.refill { buffer in
      for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: generator.next()) }
    }
  }

  /// Takes what a table wants done; `datagram` is what it just received.
  func settle(_ node: Node, _ datagram: [UInt8] = []) {
    while let event = node.table.popEvent() {
      node.log.append((now, event))
      switch event {
      case .auth(let pending, let introduction):
        switch node.answer(introduction) {
        case .accept: node.table.accept(pending, now: now, slab: node.slab)
        case .refuse: node.table.refuse(pending)
        case .leave: break
        }
      case .data(_, let kind, _, let body): node.bodies.append((kind, Array(datagram[body])))
      case .admit(_, _, let body): node.bodies.append((.admit, Array(datagram[body])))
      default: break
      }
    }
    while let datagram = node.table.popOutgoing() { send(datagram, from: node) }
    node.slab.removeAll()
  }

  private func send(_ datagram: SealedDatagram, from node: Node) {
    let flight = Flight(
      at: now, from: node.endpoint, to: datagram.endpoint,
      bytes: Array(node.slab[datagram.range]))
    node.sent.append(flight)
    guard network.passes(flight.bytes, flight.from), generator.fraction() >= network.loss else {
      return
    }
    let copies = generator.fraction() < network.duplicates ? 2 : 1
    for _ in 0..<copies {
      let extra = Double(network.jitter.wholeNanoseconds) * generator.fraction()
      put(flight, after: network.delay + .nanoseconds(Int64(extra)))
    }
  }

  /// Puts a datagram on its way, however it came to be.
  func put(_ flight: Flight, after delay: Duration = .zero) {
    var flight = flight
    flight.at = now + delay
    let index = flights.firstIndex { $0.at > flight.at } ?? flights.count
    flights.insert(flight, at: index)
  }

  /// Hands a datagram to a node at once, and returns what it answered.
  @discardableResult
  func hand(_ bytes: [UInt8], from: Endpoint, to node: Node) -> [Flight] {
    let before = node.sent.count
    var copy = bytes
    refill(node)
    copy.withUnsafeMutableBytes {
      node.table.receive($0, from: from, now: now, entropy: &node.entropy, slab: node.slab)
    }
    settle(node, copy)
    return Array(node.sent[before...])
  }

  /// Moves on to the next arrival or wake-up; false when there is none before `end`.
  func step(until end: Instant) -> Bool {
    let wake = nodes.compactMap { $0.table.deadline }.min()
    guard let next = Instant.earliest(flights.first?.at, wake), max(next, now) <= end else {
      now = max(now, end)
      return false
    }
    now = max(now, next)
    if let flight = flights.first, flight.at <= now {
      flights.removeFirst()
      if let node = nodes.first(where: { $0.endpoint == flight.to }) {
        hand(flight.bytes, from: flight.from, to: node)
      }
      return true
    }
    for node in nodes where node.table.deadline.map({ $0 <= now }) ?? false {
      refill(node)
      node.table.wake(now: now, entropy: &node.entropy, slab: node.slab)
      settle(node)
    }
    return true
  }

  func run(_ time: Duration) {
    let end = now + time
    while step(until: end) {}
  }

  /// Runs until `condition` holds, at most for `limit`; how long it took, or nil.
  func run(atMost limit: Duration, until condition: () -> Bool) -> Duration? {
    let start = now
    let end = now + limit
    while !condition() {
      guard step(until: end) else { return nil }
    }
    return now - start
  }

  func dial(_ from: Node, _ to: Node, waitFirst: Bool = false) {
    from.table.dial(Self.channel, to.endpoint, waitFirst: waitFirst, now: now)
  }

  /// The link of one node to another.
  func link(_ from: Node, _ to: Node) -> LinkID? {
    from.table.link(to: to.peer, in: Self.channel)
  }

  /// Sends a body from one node to another over their link; false without one.
  @discardableResult
  func say(_ bytes: [UInt8], _ from: Node, _ to: Node, kind: Kind = .presence) -> Bool {
    guard let link = link(from, to),
      let sealed = bytes.withUnsafeBytes({
        from.table.seal(
          kind: kind, flags: 0, body: RawSpan(_unsafeBytes: $0), padded: true, to: link,
          slab: from.slab, now: now)
      })
    else { return false }
    send(sealed, from: from)
    from.slab.removeAll()
    return true
  }

  /// Bodies of a kind that a node got.
  func heard(_ node: Node, kind: Kind = .presence) -> [[UInt8]] {
    node.bodies.filter { $0.kind == kind }.map(\.bytes)
  }

  /// Both nodes with a link that has been used, over a perfect network.
  static func connected(seed: UInt64 = 1) -> Pair {
    let pair = Pair(seed: seed)
    pair.dial(pair.a, pair.b)
    pair.run(.milliseconds(50))
    pair.say([0], pair.b, pair.a)
    pair.run(.seconds(1))
    pair.a.bodies.removeAll()
    return pair
  }
}
