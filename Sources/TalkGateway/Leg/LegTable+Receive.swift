package import TalkCore
import TalkSession
import TalkWire

extension LegTable {
  /// Takes a datagram of the phones' port, opening it in place. Whatever it is, nothing traps, and
  /// nothing is answered that is not by somebody who knows this gateway's key.
  package mutating func receive(
    _ datagram: UnsafeMutableRawBufferPointer, from: Endpoint, bursts: BurstBuffer, now: Instant,
    entropy: inout EntropyPool, slab: Slab
  ) {
    let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(datagram))
    guard let header = DataDatagram(bytes) else {
      unsafe receiveAttach(
        Array(datagram.prefix(Datagrams.limit + 1)), from: from, now: now, entropy: &entropy,
        slab: slab)
      return
    }
    guard let leg = legs[header.receiver] else {
      counts.unknown += 1
      return
    }
    switch unsafe leg.transport.open(datagram, header: header) {
    case .plaintext(let newest):
      leg.lastReceived = now
      confirm(leg, now: now)
      if newest { notePath(leg, from, now: now, entropy: &entropy, slab: slab) }
      unsafe read(
        RawSpan(_unsafeBytes: UnsafeRawBufferPointer(datagram)), of: leg, from: from,
        bursts: bursts, now: now, slab: slab)
    case .replayed: counts.replayed += 1
    case .forged: counts.forged += 1
    }
  }

  /// The first sealed datagram shows that the phone has the keys, and with them its next ticket,
  /// and is where it says. An older leg of it is over.
  private mutating func confirm(_ leg: Leg, now: Instant) {
    guard leg.confirmBy != nil else { return }
    leg.confirmBy = nil
    leg.answer = []
    if let old = self.leg(of: leg.device), old !== leg {
      homes[leg.device] = leg.index
      drop(old, .replaced)
    }
    homes[leg.device] = leg.index
    emit(.confirmed(leg.device, ticket: leg.nextTicket, key: leg.key))
  }

  /// The newest datagram came from another address: is it the phone, or somebody who copied it on?
  private mutating func notePath(
    _ leg: Leg, _ from: Endpoint, now: Instant, entropy: inout EntropyPool, slab: Slab
  ) {
    guard from != leg.endpoint else {
      leg.path = nil
      return
    }
    guard leg.path?.endpoint != from else { return }
    guard let value = entropy.drawNumber() else {
      counts.starved += 1
      return
    }
    leg.path = PathCheck(endpoint: from, value: value, due: now)
    challenge(leg, now: now, slab: slab)
  }

  mutating func challenge(_ leg: Leg, now: Instant, slab: Slab) {
    guard var path = leg.path, path.due <= now else { return }
    guard path.left > 0 else {
      leg.path = nil
      return
    }
    path.left -= 1
    path.due = now + LegLimits.repeatPauses[1]
    leg.path = path
    send(.challenge(path.value), over: leg, to: path.endpoint, slab: slab, now: now)
  }

  private mutating func read(
    _ datagram: RawSpan, of leg: Leg, from: Endpoint, bursts: BurstBuffer, now: Instant,
    slab: Slab
  ) {
    let end = datagram.byteCount - 16
    guard let header = PlaintextHeader(datagram.extracting(Datagrams.headerSize..<end)) else {
      counts.unusable += 1
      return
    }
    let start = Datagrams.headerSize + Plaintext.headerSize
    let place = start..<start + header.length
    if header.kind == LegMessage.voiceKind {
      receiveVoice(leg, datagram, place, now: now)
      return
    }
    let body = place.map { unsafe datagram.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    guard let message = LegMessage(kind: header.kind, body) else {
      counts.unusable += 1
      return
    }
    receive(message, of: leg, from: from, bursts: bursts, now: now, slab: slab)
    if legs[leg.index] === leg { pump(leg, bursts: bursts, now: now, slab: slab) }
  }

  private mutating func receive(
    _ message: LegMessage, of leg: Leg, from: Endpoint, bursts: BurstBuffer, now: Instant,
    slab: Slab
  ) {
    switch message {
    case .keepalive: break
    case .received(let id, let next, let bits, let knowsEnd):
      note(
        leg, id, next: next, bits: bits, knowsEnd: knowsEnd, bursts: bursts, now: now)
    case .request(let request): ask(leg, request, now: now)
    case .release(let number, let lastFrame):
      release(leg, number, lastFrame: lastFrame, slab: slab, now: now)
    case .told(let number, let state): told(leg, number, state)
    case .response(let value):
      guard let path = leg.path, path.value == value, path.endpoint == from else { return }
      leg.path = nil
      leg.endpoint = from
      emit(.moved(leg.device, from))
    case .register(let kind, let environment, let token):
      emit(.register(leg.device, kind, environment, token: token))
    case .state(let foreground, let allowed):
      emit(.state(leg.device, foreground: foreground, allowed: allowed))
    case .sleep: drop(leg, .slept)
    case .leave:
      let device = leg.device
      drop(leg, .slept)
      emit(.left(device))
    case .burst, .burstEnd, .floor, .challenge, .registered, .callEnded:
      // Only a gateway says these.
      counts.unusable += 1
    }
  }
}
