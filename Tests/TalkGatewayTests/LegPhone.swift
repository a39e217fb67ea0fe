import TalkCore
import TalkCrypto
import TalkSession
import TalkWire

@testable import TalkGateway

/// The phone's end of a leg, as an app would have it, written from the layouts: for tests.
final class TestPhone {
  /// What it has of a burst.
  struct Heard {
    var frames: [UInt32: [UInt8]] = [:]
    var lastFrame: UInt32?
    var isOver = false
    var turn: UInt64
    var seat: UInt16
    var name: String
    var firstAt: Instant?
  }

  let identity: Identity
  var ticket: [UInt8]
  var nextTicket: [UInt8]?
  var endpoint: Endpoint
  var answersChallenges = true
  var acknowledges = true
  /// Datagrams that it wants sent.
  var outbox: [[UInt8]] = []
  var heard: [BurstID: Heard] = [:]
  var order: [BurstID] = []
  /// Up to which frame it had a burst before it attached.
  var had: [BurstID: UInt32] = [:]
  var messages: [(at: Instant, message: LegMessage)] = []
  var status: AttachedBody.Status?
  var seat: UInt16 = 0
  var attachedAt: Instant?
  var received = 0
  private let gatewayKey: Key32
  private let index: UInt32
  private var handshake: NoiseHandshake?
  private var transport: TransportKeys?
  private var lastAttach: [UInt8] = []

  init(number: UInt64, ticket: [UInt8], gateway: Key32) {
    identity = Identity.forSimulation(seed: [UInt8](repeating: 4, count: 32), salt: number)
    (self.ticket, gatewayKey) = (ticket, gateway)
    index = UInt32(1_000 + number)
    endpoint = Endpoint(ipv4: 0x0a00_0000 + UInt32(number), port: 40_000)
  }

  /// A fresh ATTACH.
  func attach(
    lastBurst: BurstID = .none, lastFrame: UInt32 = AttachBody.noFrame,
    foreground: Bool = false, request: PhoneRequest? = nil, salt: UInt8 = 1
  ) {
    let body = AttachBody(
      ticket: ticket, channel: Sample.channelRow.uuid, lastBurst: lastBurst,
      lastFrame: lastFrame, isForeground: foreground, request: request, allowed: .critical)
    let handshake = NoiseHandshake(
      pattern: AttachDatagrams.pattern, role: .initiator, prologue: AttachDatagrams.prologue,
      preSharedKeys: [], identity: identity, ephemeral: [UInt8](repeating: salt, count: 32),
      remoteStatic: gatewayKey)!
    lastAttach = AttachDatagrams.attach(
      index: index, message: try! handshake.write(body.payload), gateway: gatewayKey)
    self.handshake = handshake
    transport = nil
    if lastFrame != AttachBody.noFrame { had[lastBurst] = lastFrame &+ 1 }
    outbox.append(lastAttach)
  }

  /// The same ATTACH again: the answer is missing.
  func repeatAttach() { outbox.append(lastAttach) }

  var isAttached: Bool { transport != nil }

  func receive(_ datagram: [UInt8], now: Instant) {
    received += datagram.count
    if datagram.first == AttachDatagrams.attached {
      receiveAttached(datagram, now: now)
      return
    }
    var bytes = datagram
    let opened: (UInt8, [UInt8])? = bytes.withUnsafeMutableBytes { buffer in
      let span = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(buffer))
      guard let header = DataDatagram(span), header.receiver == index,
        case .plaintext? = transport?.open(buffer, header: header),
        let plain = PlaintextHeader(span.extracting(16..<buffer.count - 16))
      else { return nil }
      return (plain.kind, Array(buffer[20..<20 + plain.length]))
    }
    if let opened { handle(opened.0, opened.1, now: now) }
  }

  private func receiveAttached(_ datagram: [UInt8], now: Instant) {
    guard let (phone, gateway, message) = AttachDatagrams.read(attached: datagram),
      phone == index, let handshake, let payload = try? handshake.read(message),
      let body = AttachedBody(payload)
    else { return }
    self.handshake = nil
    status = body.status
    guard body.status == .attached, let keys = handshake.split() else { return }
    transport = TransportKeys(
      sending: keys.sending, receiving: keys.receiving, remoteIndex: gateway)
    ticket = body.ticket
    seat = body.seat
    attachedAt = now
    _ = body.each { self.handle($0, $1, now: now) }
    say(.keepalive)
  }

  private func handle(_ kind: UInt8, _ body: [UInt8], now: Instant) {
    if kind == LegMessage.voiceKind {
      hear(body, now: now)
      return
    }
    guard let message = LegMessage(kind: kind, body) else { return }
    messages.append((now, message))
    switch message {
    case .burst(let id, let turn, let seat, _, _, let name):
      if heard[id] == nil {
        heard[id] = Heard(turn: turn, seat: seat, name: name)
        order.append(id)
      }
    case .burstEnd(let id, let lastFrame):
      heard[id]?.isOver = true
      heard[id]?.lastFrame = lastFrame
      report(id)
    case .challenge(let value): if answersChallenges { say(.response(value)) }
    case .floor(let number, let state):
      if acknowledges { say(.told(number: number, state: state.number)) }
    default: break
    }
  }

  private func hear(_ body: [UInt8], now: Instant) {
    var reader = ByteReader(body.span.bytes)
    guard let header = VoiceHeader(from: &reader),
      let size = header.frameSize(bodyCount: body.count),
      let id = order.last(where: {
        heard[$0]?.turn == header.turn && heard[$0]?.seat == header.seat
      })
    else { return }
    for index in 0..<header.frameCount {
      let range = header.range(ofFrame: index, size: size)
      heard[id]?.frames[header.sequence(ofFrame: index)] = Array(body[range])
    }
    if heard[id]?.firstAt == nil { heard[id]?.firstAt = now }
  }

  /// Says which frames of the newest bursts it has; an app does so every 60 ms or so.
  func report() { for id in order.suffix(2) { report(id) } }

  private func report(_ id: BurstID) {
    guard acknowledges, let burst = heard[id] else { return }
    var next = had[id] ?? 0
    while burst.frames[next] != nil { next &+= 1 }
    var bits: UInt64 = 0
    for offset in 0..<64 where burst.frames[next &+ 1 &+ UInt32(offset)] != nil {
      bits |= 1 << UInt64(offset)
    }
    say(.received(id, next: next, bits: bits, knowsEnd: burst.isOver))
  }

  func say(_ message: LegMessage) { seal(message.kind, message.body) }

  /// Its own voice.
  func speak(turn: UInt64, frame: Int) {
    let header = VoiceHeader(
      turn: turn, seat: seat, sequence: UInt32(frame), floorClass: .normal)
    var body = [UInt8](repeating: 0, count: VoiceHeader.size)
    var span = body.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    header.write(to: &writer)
    seal(LegMessage.voiceKind, body + BurstSample.frame(frame))
  }

  private func seal(_ kind: UInt8, _ body: [UInt8]) {
    guard transport != nil else { return }
    let plain = [kind, 0, UInt8(body.count & 255), UInt8(body.count >> 8)] + body
    var datagram =
      [UInt8](repeating: 0, count: 16) + plain + [UInt8](repeating: 0, count: 16)
    let sealed = datagram.withUnsafeMutableBytes { transport!.seal($0) }
    if sealed { outbox.append(datagram) }
  }
}

/// A gateway's legs with a registry in memory, phones, and a network between them.
final class LegBench {
  let identity = Identity.forSimulation(seed: [UInt8](repeating: 3, count: 32), salt: 1)
  lazy var legs = LegTable(identity: identity)
  var bursts = BurstBuffer()
  var phones: [TestPhone] = []
  var now = Instant.zero + .seconds(5_000)
  var events: [LegEvent] = []
  var oneWay = Duration.milliseconds(5)
  var loss = 0.0
  /// The registry: which phone a ticket belongs to.
  var tickets: [TicketHash: LegPhone] = [:]
  var answersLookUps = true
  /// A real one in its place.
  var registry: SQLiteRegistry?
  /// Bytes sent to and from each address.
  var sentTo: [Endpoint: Int] = [:]
  var sent: [(at: Instant, bytes: [UInt8], to: Endpoint)] = []
  private var flights: [(at: Instant, number: Int, bytes: [UInt8], from: Endpoint?, phone: Int)] =
    []
  private var flightNumber = 0
  private var generator = SeededGenerator(seed: 11)
  private let slab = Slab(capacity: 4 << 20)
  private var entropy = EntropyPool()

  init() {
    refill()
  }

  private func refill() {
    entropy.refill { buffer in
      for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: generator.next()) }
    }
  }

  func addPhone(channel: ChannelID = Sample.channel) -> TestPhone {
    let number = UInt64(phones.count + 1)
    let ticket = [UInt8](repeating: UInt8(number), count: 32)
    let phone = TestPhone(
      number: number, ticket: ticket, gateway: identity.publicIdentity.agreement)
    tickets[TicketHash(of: ticket)] = LegPhone(
      device: Sample.device(Int(number)), channel: channel, uuid: Sample.channelRow.uuid,
      seat: UInt16(number), key: nil)
    phones.append(phone)
    return phone
  }

  /// The gateway starts anew: its legs are gone, its phones do not know yet.
  func restart() {
    legs = LegTable(identity: identity)
    bursts = BurstBuffer()
  }

  /// Hands bytes to the gateway now.
  func hand(_ bytes: [UInt8], from: Endpoint) {
    refill()
    var copy = bytes
    copy.withUnsafeMutableBytes {
      legs.receive(
        $0, from: from, bursts: bursts, now: now, entropy: &entropy, slab: slab)
    }
    settle(datagram: copy)
  }

  func tell(_ phone: Int, _ number: UInt32, _ state: PhoneFloor) {
    legs.tell(Sample.device(phone), number: number, state, slab: slab, now: now)
    settle()
  }

  func remove(_ phone: Int) {
    legs.remove(Sample.device(phone), slab: slab, now: now)
    settle()
  }

  /// Does what the machine wants, until it wants nothing.
  func settle(datagram: [UInt8] = []) {
    while true {
      var didSomething = false
      while let event = legs.popEvent() {
        didSomething = true
        act(on: event)
      }
      while let out = legs.popOutgoing() {
        didSomething = true
        let bytes = Array(slab[out.range])
        sent.append((now, bytes, out.endpoint))
        sentTo[out.endpoint, default: 0] += bytes.count
        guard let index = phones.firstIndex(where: { $0.endpoint == out.endpoint }) else {
          continue
        }
        fly(bytes, from: nil, phone: index)
      }
      slab.removeAll()
      if !didSomething { return }
    }
  }

  private func act(on event: LegEvent) {
    events.append(event)
    switch event {
    case .lookUp(let id, let ticket, let next, let key):
      guard answersLookUps else { return }
      if let registry {
        let found = try? registry.attach(ticket: ticket, next: next, key: key)
        let phone = found.map {
          LegPhone(
            device: $0.device, channel: $0.channel, uuid: Sample.channelRow.uuid, seat: $0.seat,
            key: $0.key)
        }
        legs.found(id, phone, bursts: bursts, now: now, entropy: &entropy, slab: slab)
        return
      }
      let phone = tickets[ticket]
      if let phone, phone.key ?? key == key { tickets[next] = phone }
      legs.found(id, phone, bursts: bursts, now: now, entropy: &entropy, slab: slab)
    case .confirmed(let device, let ticket, let key):
      try? registry?.confirmTicket(ticket, of: device, key: key, at: Sample.now)
      tickets = tickets.filter { $0.value.device != device || $0.key == ticket }
      tickets[ticket]?.key = key
    default: break
    }
  }

  private func fly(_ bytes: [UInt8], from: Endpoint?, phone: Int) {
    guard generator.fraction() >= loss else { return }
    flightNumber += 1
    flights.append((now + oneWay, flightNumber, bytes, from, phone))
  }

  /// One moment of the network: what phones want sent, what arrives, what is due.
  private func step(until end: Instant) -> Bool {
    for (index, phone) in phones.enumerated() {
      for bytes in phone.outbox { fly(bytes, from: phone.endpoint, phone: index) }
      phone.outbox.removeAll()
    }
    let arrival = flights.min { ($0.at, $0.number) < ($1.at, $1.number) }
    guard let due = Instant.earliest(arrival?.at, legs.deadline), due <= end else { return false }
    now = max(now, due)
    if let arrival, arrival.at <= now {
      flights.removeAll { $0.number == arrival.number }
      if let from = arrival.from {
        hand(arrival.bytes, from: from)
      } else {
        phones[arrival.phone].receive(arrival.bytes, now: now)
      }
    } else {
      legs.wake(bursts: bursts, now: now, slab: slab)
      settle()
    }
    return true
  }

  /// Lets time pass; phones report every 60 ms when `reporting`.
  func run(_ duration: Duration, reporting: Bool = true) {
    let end = now + duration
    while now < end {
      let slice = min(end, now + .milliseconds(60))
      var steps = 0
      while step(until: slice) {
        steps += 1
        precondition(steps < 100_000, "the machine wants to be woken without end")
      }
      now = slice
      if reporting { for phone in phones { phone.report() } }
    }
    while step(until: now) {}
  }

  func begin(_ burst: Int, seat: UInt16 = 0, holder: PeerID? = nil) {
    let token = TokenID(
      turn: UInt64(burst), holder: holder ?? WakeBench.mesh.peer, seat: seat)
    bursts.begin(
      id(burst, seat: seat, holder: holder), channel: Sample.channel, token: token,
      floorClass: .normal, name: "Ann", now: now)
  }

  func id(_ burst: Int, seat: UInt16 = 0, holder: PeerID? = nil) -> BurstID {
    BurstID(
      of: TokenID(turn: UInt64(burst), holder: holder ?? WakeBench.mesh.peer, seat: seat),
      on: Sample.channel)
  }

  /// The mesh hears frames at once, or each 20 ms when `live`.
  func frames(_ burst: Int, _ range: Range<Int>, live: Bool = false) {
    for frame in range {
      bursts.insert(burst, frame: frame, now: now)
      if live {
        legs.pump(Sample.channel, bursts: bursts, now: now, slab: slab)
        settle()
        run(.milliseconds(20), reporting: frame % 3 == 0)
      }
    }
    legs.pump(Sample.channel, bursts: bursts, now: now, slab: slab)
    settle()
  }

  func end(_ burst: Int, lastFrame: UInt32?) {
    bursts.end(id(burst), lastFrame: lastFrame, now: now)
    legs.pump(Sample.channel, bursts: bursts, now: now, slab: slab)
    settle()
  }

  func has(_ predicate: (LegEvent) -> Bool) -> Bool { events.contains(where: predicate) }
}
