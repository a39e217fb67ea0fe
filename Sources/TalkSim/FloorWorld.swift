package import TalkCore
import TalkCrypto
import TalkFloor
import TalkWire

/// Parties on a simulated network with one virtual clock: voice is a marked frame every 20 ms, time
/// in which nothing happens costs nothing, and one seed repeats a run bit for bit.
///
/// How to drive it: make it of a script and a mix, then `run()`; everything that happens goes to
/// the sink. Sessions are modelled by what the floor sees of them: a peer is present from the
/// handshake on, away after 3.5 s of silence, here again with its next datagram, and a restarted
/// node must shake hands anew.
package struct FloorWorld<Party: FloorParty, Sink: ObservationSink> {
  /// A burst that a host sends.
  struct Burst {
    var token: Token
    var frame: UInt32 = 0
    var tailUntil: UInt64?
    var number: UInt32
    /// A frame tick came while the loop stood still.
    var isOverdue = false
  }

  /// One node: its party, its clock, its key, its disk.
  struct Host {
    var party: Party
    var peer: PeerID
    var isAlive = true
    var boots: UInt64 = 0
    /// How many millionths its clock runs fast.
    var drift: Int64 = 0
    /// When the wake that counts is scheduled.
    var armed = UInt64.max
    var burst: Burst?
    var bursts: UInt32 = 0
    /// Turns on disk.
    var onDisk: UInt64 = 0
    var failsNextPersist = false

    var isPaused = false
    var isSuspended = false
    var pausedUntil: UInt64 = 0
    var pausedSince: UInt64 = 0
    /// When its loop wanted to wake next, as it stood still.
    var duePaused = UInt64.max
    var waiting: [WorldEvent] = []

    /// The person's finger.
    var personDown = false
    var press: UInt64 = 0
    var wanted = FloorClass.normal
    var talk: UInt64 = 0
    var willLetGo = false
    /// What the node takes the key for.
    var keyDown = false
    var keyExpires: UInt64 = 0
    var ticks: UInt64 = 0

    var isLiar = false
    var heardToken: Token?
    var ownMarks: [VoiceMark] = []
    var heardMessages: [Int32] = []
    var spins = 0
  }

  /// The quality of links and people.
  package let mix: FaultMix
  /// What is done.
  package let script: Script
  /// Where observations go.
  package var sink: Sink
  /// How many nodes there are.
  package let count: Int
  let setups: [PartySetup]
  var hosts: [Host]
  var network: SimulatedNetwork
  var queue = WorldQueue()
  var pool = MessagePool<Party.Message>()
  var marks: [VoiceMark]
  var nextMark: UInt64 = 0
  var index: PeerIndex
  /// For each pair the number of their session, 0 for none, as the first of the pair sees it.
  var sessions: [UInt32]
  var present: [Bool]
  var lastHeard: [UInt64]
  var nextSession: UInt32 = 1
  var generator: SeededGenerator
  /// The world's clock, in nanoseconds.
  var clock: UInt64 = Self.start
  /// How many events were handled.
  package internal(set) var events = 0
  /// True once workload and faults are over.
  var isDraining = false
  /// The lines of the trace, when one is wanted.
  package var trace: TraceRing?

  static var start: UInt64 { 10_000_000_000 }
  static var markMask: UInt64 { 1 << 15 - 1 }
  static var frameStep: UInt64 { 20_000_000 }

  /// A world in which everyone has a session with everyone that it can reach; node 0 has created
  /// the channel.
  package init(script: Script, mix: FaultMix, seed: UInt64, sink: Sink, trace: TraceRing? = nil) {
    self.script = script
    self.mix = mix
    self.sink = sink
    self.trace = trace
    count = script.nodes
    let members = Membership(count: count, mix: mix, seed: seed)
    setups = members.setups(now: Instant(nanoseconds: Self.start))
    index = PeerIndex(members.identities.map(\.publicIdentity.peerID))
    network = SimulatedNetwork(count: count, mix: mix, seed: seed)
    generator = SeededGenerator(seed: seed ^ 0x0f10_0a0e_0e1d_0001)
    marks = Array(
      repeating: VoiceMark(
        turn: 0, seat: 0, floorClass: .normal, frame: 0, isLast: false, burst: 0),
      count: Int(Self.markMask) + 1)
    sessions = Array(repeating: 0, count: count * count)
    present = Array(repeating: false, count: count * count)
    lastHeard = Array(repeating: Self.start, count: count * count)
    hosts = []
    for setup in setups {
      var host = Host(
        party: Party(setup), peer: setup.identity.publicIdentity.peerID)
      if mix.drift > 0 {
        host.drift = generator.number(in: Int64(-mix.drift)...Int64(mix.drift))
      }
      hosts.append(host)
    }
    for liar in 0..<min(mix.liars, count - 1) { hosts[count - 1 - liar].isLiar = true }
    begin()
  }

  private mutating func begin() {
    for left in 0..<count {
      for right in 0..<count where left != right && network.passes(from: left, to: right) {
        sessions[left * count + right] = 1
        present[left * count + right] = true
        hosts[left].party.setPresent(hosts[right].peer, true, now: local(left))
      }
    }
    for node in 0..<count {
      perform(node)
      let phase = UInt64(generator.number(in: 0...499_999_999))
      queue.schedule(WorldEvent(kind: .tick, node: Int32(node)), at: clock + phase)
      if hosts[node].isLiar {
        queue.schedule(WorldEvent(kind: .lie, node: Int32(node)), at: clock + 2_000_000_000)
      }
      hosts[node].failsNextPersist = generator.chance(mix.failingDisks)
    }
    for (place, item) in script.items.enumerated() {
      queue.schedule(
        WorldEvent(kind: .item, node: 0, number: UInt64(place)),
        at: clock + UInt64(item.at.wholeNanoseconds))
    }
    queue.schedule(WorldEvent(kind: .census, node: 0), at: clock + Self.censusStep)
    queue.schedule(
      WorldEvent(kind: .drain, node: 0), at: clock + UInt64(script.end.wholeNanoseconds))
  }

  /// How long a mesh may take to come to rest after the last fault.
  static var drainTime: UInt64 { 25_000_000_000 }
  static var censusStep: UInt64 { 250_000_000 }

  // MARK: Time

  /// The world's time.
  package var now: Instant { Instant(nanoseconds: clock) }

  /// A node's own clock.
  func local(_ node: Int) -> Instant { localTime(node, clock) }

  func localTime(_ node: Int, _ time: UInt64) -> Instant {
    let drift = hosts[node].drift
    guard drift != 0 else { return Instant(nanoseconds: time) }
    let off = Int64(time) / 1_000 * drift / 1_000
    return Instant(nanoseconds: UInt64(Int64(time) + off))
  }

  /// The world's time when a node's clock shows `instant` or a little more.
  private func worldTime(_ node: Int, _ instant: Instant) -> UInt64 {
    let drift = hosts[node].drift
    guard drift != 0 else { return instant.nanoseconds }
    let off = Int64(instant.nanoseconds) / 1_000 * drift / 1_000
    var time = UInt64(Int64(instant.nanoseconds) - off) &- 2_000_000
    while localTime(node, time) < instant {
      time += max(1, UInt64((instant - localTime(node, time)).wholeNanoseconds))
    }
    return time
  }

  // MARK: Running

  /// Runs to the end of the script and of the rest after it, or until the sink has had enough.
  package mutating func run() {
    let end = clock + UInt64(script.end.wholeNanoseconds) + Self.drainTime
    run(until: end)
  }

  /// Runs until the world's clock shows `end`.
  package mutating func run(until end: UInt64) {
    while queue.nextTime <= end, !sink.isSatisfied, let (at, event) = queue.pop() {
      clock = at
      events += 1
      handle(event)
    }
  }

  private mutating func handle(_ event: WorldEvent) {
    switch event.kind {
    case .voice: arriveVoice(event)
    case .message: arriveMessage(event)
    case .presence: arrivePresence(event)
    case .wake: wakeIfDue(event)
    case .frame: sendFrame(event)
    case .tail: endTail(event)
    case .tick: tick(Int(event.node))
    case .handshake: shakeHands(Int(event.node), Int(event.other))
    case .item: begin(script.items[Int(event.number)].what)
    case .itemEnd: mend(event)
    case .assertKey, .level, .keyExpires, .patience, .letGo: handleKey(event)
    case .onDisk, .diskTold: persist(event)
    case .restart: restart(Int(event.node))
    case .resume: resume(event)
    case .lie: tellLie(Int(event.node))
    case .census: takeCensus()
    case .drain: drain()
    }
  }

  mutating func note(_ node: Int, _ what: Observation.What) {
    sink.take(Observation(at: Instant(nanoseconds: clock), node: node, what: what))
    if trace != nil { traceLine(node, what) }
  }

  /// Arms the wake of a node for its party's deadline.
  mutating func arm(_ node: Int) {
    guard let deadline = hosts[node].party.deadline, deadline != .distantFuture else { return }
    let due = max(worldTime(node, deadline), clock)
    guard due < hosts[node].armed else { return }
    hosts[node].armed = due
    queue.schedule(WorldEvent(kind: .wake, node: Int32(node)), at: due)
  }

  private mutating func wakeIfDue(_ event: WorldEvent) {
    let node = Int(event.node)
    guard hosts[node].armed == clock else { return }
    hosts[node].armed = .max
    guard hosts[node].isAlive, !hosts[node].isPaused else { return }
    let time = local(node)
    guard let deadline = hosts[node].party.deadline, deadline <= time else { return arm(node) }
    hosts[node].party.wake(now: time)
    perform(node)
    guard hosts[node].armed == clock else { return hosts[node].spins = 0 }
    hosts[node].spins += 1
    precondition(
      hosts[node].spins < 1_000, "node \(node) wakes without end: \(hosts[node].party.view)")
  }

  private mutating func takeCensus() {
    queue.schedule(WorldEvent(kind: .census, node: 0), at: clock + Self.censusStep)
    for node in 0..<count where hosts[node].isAlive && !hosts[node].isPaused {
      note(node, .view(hosts[node].party.view))
    }
  }

  private mutating func drain() {
    isDraining = true
    note(0, .draining)
    for node in 0..<count where hosts[node].personDown { personLetsGo(node) }
  }
}
