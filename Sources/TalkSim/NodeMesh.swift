package import TalkCore
import TalkCrypto
package import TalkMesh
package import TalkNode
package import TalkVoice

/// Whole nodes on a simulated network and clock: the shipped machines, sessions and codec included,
/// with virtual microphones and loudspeakers. One seed repeats a run bit for bit.
package final class NodeMesh {
  /// Something that a node told, for tests to look at.
  package struct Told: Sendable {
    /// When.
    package var at: Instant
    /// Which node.
    package var node: Int
    /// What.
    package var event: NodeEvent
  }

  /// One node with its step and devices.
  package final class Host {
    /// The node.
    package let node: Node
    let step = Step()
    var entropy: SeededGenerator
    /// Everything that its loudspeaker has played, mono at 48 kHz.
    package fileprivate(set) var played: [Int16] = []
    /// What its microphone hears: a function of the number of the sample.
    package var microphone: (Int) -> Int16 = { _ in 0 }
    fileprivate var spoken = 0
    /// When the wake that counts is scheduled.
    fileprivate var armed = Instant.distantFuture
    fileprivate var alive = true

    init(node: Node, entropy: SeededGenerator) {
      self.node = node
      self.entropy = entropy
    }
  }

  private enum Event {
    case datagram([UInt8], from: Int, to: Int)
    case reserved(node: Int, ChannelID, UInt64)
    case sound
    case wake(node: Int)
  }

  /// How the network treats datagrams; may be changed between `run` calls.
  package var links: LinkModel
  /// False where multicast dies: a HELLO to all then reaches nobody.
  package var carriesHellos = true
  /// The hosts.
  package private(set) var hosts: [Host] = []
  /// The time.
  package private(set) var now = Instant(nanoseconds: 10_000_000_000)
  /// What the nodes told, in order.
  package private(set) var told: [Told] = []
  /// How many datagrams were sent, HELLOs to all counted once a receiver.
  package private(set) var datagrams = 0
  private var generator: SeededGenerator
  private var heap = EventHeap<Event>()
  /// What a device moves at a time: 10 ms, or 20 where frames are marked.
  private let quantum: Int
  /// False for long runs whose sound nobody looks at: then one sample of each quantum is kept.
  package var keepsSound = true
  private var buffer: [Int16]

  /// `count` nodes without channels.
  package init(
    count: Int, seed: UInt64, links: LinkModel = LinkModel(), coding: VoiceCoding = .opus
  ) throws(NodeStartError) {
    self.links = links
    quantum = coding == .marked ? 960 : 480
    buffer = [Int16](repeating: 0, count: quantum)
    generator = SeededGenerator(seed: seed)
    for index in 0..<count {
      let identity = Identity.forSimulation(
        seed: [UInt8](repeating: UInt8(index & 255), count: 32), salt: seed &+ UInt64(index >> 8))
      let node = try Node(
        identity: identity,
        configuration: Node.Configuration(
          nickname: "node\(index)", boot: generator.next(), startCount: 1,
          seed: generator.next(), port: 41_717, memory: .ordinary,
          coding: coding),
        channels: [], current: nil, now: now)
      hosts.append(Host(node: node, entropy: SeededGenerator(seed: generator.next())))
    }
    heap.schedule(.sound, at: now)
  }

  /// Where a host is.
  package static func endpoint(of index: Int) -> Endpoint {
    Endpoint(ipv4: 0x0a4d_0000 + UInt32(index) + 1, port: 41_717)
  }

  /// The host at an address; nil for one that no host has.
  private static func host(at endpoint: Endpoint) -> Int? {
    guard let address = endpoint.ipv4, address > 0x0a4d_0000, endpoint.port == 41_717 else {
      return nil
    }
    return Int(address - 0x0a4d_0001)
  }

  /// Lets a host's node take one input.
  package func input(_ index: Int, _ body: (Node, Step) throws -> Void) rethrows {
    let host = hosts[index]
    guard host.alive else { return }
    host.step.now = now
    unsafe host.step.entropy.refill { buffer in
      for position in buffer.indices {
        unsafe buffer[position] = UInt8(truncatingIfNeeded: host.entropy.next())
      }
    }
    defer { perform(index) }
    try body(host.node, host.step)
  }

  /// A power cut at one host.
  package func crash(_ index: Int) { hosts[index].alive = false }

  /// Puts the first `count` hosts (all if nil) on one channel that host 0 makes, each by an invite
  /// of its own.
  package func joinAll(
    _ name: String = "crew", rules: ChannelRules = [], count: Int? = nil
  ) throws -> ChannelID {
    var channel: ChannelID?
    try input(0) { channel = try $0.createChannel(name, rules: rules, $1) }
    let id = channel!
    for index in hosts.indices.prefix(count ?? hosts.count).dropFirst() {
      var line = ""
      try input(0) { line = try $0.invite(id, for: .seconds(600), admitting: 1, $1) }
      let invite = try Invite(text: line, memory: .ordinary)
      try input(index) { _ = try $0.join(invite, $1) }
      run(for: .seconds(2))
    }
    return id
  }

  /// Runs for `length` of virtual time.
  package func run(for length: Duration) {
    let end = now + length
    for index in hosts.indices where hosts[index].alive { arm(index) }
    while let next = heap.nextTime, next < end {
      now = max(now, next)
      while let (_, event) = heap.pop(until: now) { handle(event) }
    }
    now = end
  }

  /// Schedules the wake that a node wants, if it is earlier than the one that is scheduled.
  private func arm(_ index: Int) {
    guard let deadline = hosts[index].node.deadline else { return }
    let due = max(deadline, now)
    guard due < hosts[index].armed else { return }
    hosts[index].armed = due
    heap.schedule(.wake(node: index), at: due)
  }

  private func wake(_ index: Int) {
    guard hosts[index].armed <= now else { return }
    hosts[index].armed = .distantFuture
    guard hosts[index].alive else { return }
    guard let deadline = hosts[index].node.deadline, deadline <= now else { return arm(index) }
    input(index) { $0.wake($1) }
  }

  private func handle(_ event: Event) {
    switch event {
    case .datagram(var bytes, let from, let to):
      input(to) { node, step in
        unsafe bytes.withUnsafeMutableBytes {
          unsafe node.receive($0, from: Self.endpoint(of: from), step)
        }
      }
    case .reserved(let index, let channel, let turn):
      input(index) { node, _ in node.turnsReserved(channel, through: turn) }
    case .wake(let index): wake(index)
    case .sound:
      heap.schedule(.sound, at: now + .milliseconds(quantum / 48))
      for index in hosts.indices where hosts[index].alive { moveSound(index) }
    }
  }

  private func moveSound(_ index: Int) {
    let host = hosts[index]
    if host.node.wantsCapture {
      for place in buffer.indices { buffer[place] = host.microphone(host.spoken + place) }
      host.spoken += quantum
      input(index) { node, step in
        unsafe buffer.withUnsafeBufferPointer { unsafe node.captured($0, step) }
      }
    }
    guard host.node.wantsPlayback else { return }
    unsafe buffer.withUnsafeMutableBufferPointer { unsafe host.node.render(into: $0, now: now) }
    if keepsSound { host.played += buffer } else { host.played.append(buffer[0]) }
  }

  private func perform(_ index: Int) {
    let step = hosts[index].step
    for outgoing in step.sends {
      let bytes = unsafe Array(step.slab[outgoing.range])
      guard let to = Self.host(at: outgoing.endpoint), to < hosts.count else { continue }
      deliver(bytes, from: index, to: to)
    }
    for range in step.hellos where carriesHellos {
      let bytes = unsafe Array(step.slab[range])
      for to in hosts.indices where to != index { deliver(bytes, from: index, to: to) }
    }
    for effect in step.cold {
      switch effect {
      case .reserveTurns(let channel, let turn):
        hosts[index].node.willReserveTurns(channel, through: turn)
        heap.schedule(.reserved(node: index, channel, turn), at: now + .milliseconds(5))
      case .tell(let event): told.append(Told(at: now, node: index, event: event))
      case .saveChannel, .forgetChannel, .publish: break
      }
    }
    step.removeAll()
    arm(index)
  }

  private func deliver(_ bytes: [UInt8], from: Int, to: Int) {
    datagrams += 1
    for arrival in links.arrivals(from: from, to: to, now: now, generator: &generator) {
      heap.schedule(.datagram(bytes, from: from, to: to), at: arrival)
    }
  }
}
