package import TalkCore
import TalkCrypto
import TalkSession
import TalkWire

extension LegTable {
  /// Takes an ATTACH: opens it and asks the registry about its ticket.
  mutating func receiveAttach(
    _ bytes: [UInt8], from: Endpoint, now: Instant, entropy: inout EntropyPool, slab: Slab
  ) {
    guard let (phoneIndex, mac) = AttachDatagrams.read(attach: bytes, gateway: gatewayKey) else {
      counts.malformed += 1
      return
    }
    // A copy: the answer was lost, or is not there yet.
    if let known = legs.values.first(where: { $0.mac == mac }) {
      if known.confirmBy != nil { send(known.answer, to: from, slab: slab) }
      return
    }
    guard !pending.values.contains(where: { $0.mac == mac }) else { return }
    guard !pending.isFull, sources.take(from, now: now), attaches.take(now: now) else {
      counts.flooded += 1
      return
    }
    guard let ephemeral = entropy.draw(32), let next = entropy.draw(TicketHash.ticketSize),
      let handshake = NoiseHandshake(
        pattern: AttachDatagrams.pattern, role: .responder, prologue: AttachDatagrams.prologue,
        preSharedKeys: [], identity: identity, ephemeral: ephemeral)
    else {
      counts.starved += 1
      return
    }
    guard let payload = try? handshake.read(Array(bytes[AttachDatagrams.message])),
      let key = handshake.remoteStatic
    else {
      counts.forged += 1
      return
    }
    guard let body = AttachBody(payload) else {
      counts.unusable += 1
      return
    }
    let id = AttachID(number: nextAttach)
    nextAttach += 1
    pending[id] = PendingAttach(
      handshake: handshake, key: key, body: body, mac: mac, phoneIndex: phoneIndex,
      endpoint: from, next: next, expires: now + LegLimits.pendingTime)
    emit(
      .lookUp(
        id, ticket: TicketHash(of: body.ticket), next: TicketHash(of: next), key: key))
  }

  /// The registry's answer: the phone that the ticket belongs to, nil for none. The next ticket
  /// must be on disk by now. Answers the phone, with the first frames of what it missed.
  package mutating func found(
    _ id: AttachID, _ phone: LegPhone?, bursts: BurstBuffer, now: Instant,
    entropy: inout EntropyPool, slab: Slab
  ) {
    guard let waiting = pending[id] else { return }
    pending[id] = nil
    guard let phone, phone.uuid == waiting.body.channel, phone.key ?? waiting.key == waiting.key
    else {
      counts.refused += 1
      refuse(waiting, .refused, slab: slab)
      return
    }
    guard !legs.isFull, let index = freshIndex(&entropy) else {
      counts.starved += 1
      refuse(waiting, .busy, slab: slab)
      return
    }
    attach(waiting, phone, index: index, bursts: bursts, now: now, slab: slab)
  }

  /// The registry can't be asked.
  package mutating func notFound(_ id: AttachID, slab: Slab) {
    guard let waiting = pending[id] else { return }
    pending[id] = nil
    counts.starved += 1
    refuse(waiting, .busy, slab: slab)
  }

  private mutating func refuse(
    _ waiting: PendingAttach, _ status: AttachedBody.Status, slab: Slab
  ) {
    let none = [UInt8](repeating: 0, count: TicketHash.ticketSize)
    let body = AttachedBody(status: status, ticket: none, seat: 0, items: [])
    guard let message = try? waiting.handshake.write(body.payload) else { return }
    // The index says nothing here, but must not be zero.
    send(
      AttachDatagrams.attached(phone: waiting.phoneIndex, gateway: 1, message: message),
      to: waiting.endpoint, slab: slab)
  }

  private func freshIndex(_ entropy: inout EntropyPool) -> UInt32? {
    for _ in 0..<8 {
      guard let number = entropy.drawNumber() else { return nil }
      let index = UInt32(truncatingIfNeeded: number)
      if index != 0, legs.index(of: index) == nil { return index }
    }
    return nil
  }

  private mutating func attach(
    _ waiting: PendingAttach, _ phone: LegPhone, index: UInt32, bursts: BurstBuffer,
    now: Instant, slab: Slab
  ) {
    let resume = resumption(waiting.body, phone, bursts, now: now)
    let (items, stream, pause) = firstItems(resume, bursts)
    let body = AttachedBody(
      status: .attached, ticket: waiting.next, seat: phone.seat, items: items)
    guard let message = try? waiting.handshake.write(body.payload),
      let keys = waiting.handshake.split()
    else {
      counts.starved += 1
      return
    }
    let leg = Leg(
      index: index, phone: phone, pending: waiting,
      transport: TransportKeys(
        sending: keys.sending, receiving: keys.receiving, remoteIndex: waiting.phoneIndex),
      lastOrder: resume.lastOrder, now: now)
    leg.answer = AttachDatagrams.attached(
      phone: waiting.phoneIndex, gateway: index, message: message)
    leg.allowance -= leg.answer.count
    leg.stream = stream
    leg.nextFrames = now + pause
    takeOver(leg)
    legs[index] = leg
    send(leg.answer, to: leg.endpoint, slab: slab)
    emit(
      .attached(
        phone.device, foreground: waiting.body.isForeground, allowed: waiting.body.allowed))
    if let request = waiting.body.request { ask(leg, request, now: now) }
    pump(leg, bursts: bursts, now: now, slab: slab)
  }

  /// Older attempts of the phone that were never confirmed give way, with what they asked for.
  private mutating func takeOver(_ leg: Leg) {
    for old in Array(legs.values) where old.device == leg.device && old.confirmBy != nil {
      legs[old.index] = nil
      leg.floor = old.floor
      if homes[leg.device] == old.index { homes[leg.device] = nil }
    }
    if homes[leg.device] == nil { homes[leg.device] = leg.index }
  }

  /// Where a phone goes on: in the burst that it heard last, else with the first that it has not
  /// heard of all that are kept.
  private func resumption(
    _ body: AttachBody, _ phone: LegPhone, _ bursts: BurstBuffer, now: Instant
  ) -> (lastOrder: UInt64, stream: Stream?) {
    var lastOrder: UInt64 = 0
    if let last = bursts[body.lastBurst], last.channel == phone.channel {
      let next = body.lastFrame == AttachBody.noFrame ? 0 : body.lastFrame &+ 1
      if last.ended.map({ $0.lastFrame.map { next <= $0 } ?? false }) ?? true {
        return (last.order, Stream(last, from: next))
      }
      lastOrder = last.order
    }
    guard let burst = nextBurst(phone.channel, phone.seat, after: lastOrder, bursts, now: now)
    else { return (lastOrder, nil) }
    return (burst.order, Stream(burst, from: 0))
  }

  /// What fits into ATTACHED behind the ticket: the burst and its first frames.
  private func firstItems(
    _ resume: (lastOrder: UInt64, stream: Stream?), _ bursts: BurstBuffer
  ) -> (items: [UInt8], stream: Stream?, pause: Duration) {
    guard var stream = resume.stream, let burst = bursts[stream.burst] else {
      return ([], nil, .zero)
    }
    var items = Self.item(Self.note(burst).kind, Self.note(burst).body)
    let room = AttachDatagrams.attachedPayload - AttachedBody.size - items.count
    guard let packet = voice(burst, from: stream.next, room: room - Plaintext.headerSize) else {
      return (items, stream, .zero)
    }
    items += Self.item(LegMessage.voiceKind, packet.body)
    stream.next += UInt32(packet.count)
    return (items, stream, burst.frameLength.duration * packet.count / LegLimits.pace)
  }

  private static func item(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
    [kind, 0, UInt8(truncatingIfNeeded: body.count), UInt8(truncatingIfNeeded: body.count >> 8)]
      + body
  }
}

extension Stream {
  init(_ burst: KeptBurst, from next: UInt32) {
    self.init(
      burst: burst.id, order: burst.order, turn: burst.token.turn, seat: burst.token.seat,
      next: next)
  }
}
