package import TalkCore
package import TalkCrypto
package import TalkSession
import TalkWire

/// What the registry knows of a phone that attaches.
package struct LegPhone: Hashable, Sendable {
  /// Which phone.
  package var device: DeviceID
  /// Its mesh channel.
  package var channel: ChannelID
  /// That channel's UUID as the phone knows it.
  package var uuid: Bytes16
  /// From which seat it speaks.
  package var seat: UInt16
  /// The key that it is bound to; nil before its first time.
  package var key: Key32?

  /// Makes it of its parts.
  package init(device: DeviceID, channel: ChannelID, uuid: Bytes16, seat: UInt16, key: Key32?) {
    (self.device, self.channel, self.uuid) = (device, channel, uuid)
    (self.seat, self.key) = (seat, key)
  }
}

/// An ATTACH that waits for the registry.
package struct AttachID: Hashable, Comparable, Sendable {
  let number: UInt64

  /// Orders by age.
  package static func < (left: AttachID, right: AttachID) -> Bool { left.number < right.number }
}

/// Why a leg ended.
package enum LegEnd: Hashable, Sendable {
  /// The phone went to sleep.
  case slept
  /// Nothing came from it for `LegLimits.silence`, or never anything.
  case silent
  /// It attached anew; the new leg was told before.
  case replaced
}

/// What legs tell the gateway.
package enum LegEvent: Hashable, Sendable {
  /// Look the ticket up, note `next` if the phone's key is nil or this one, then call `found`.
  case lookUp(AttachID, ticket: TicketHash, next: TicketHash, key: Key32)
  /// A phone is attached.
  case attached(DeviceID, foreground: Bool, allowed: InterruptionLevel)
  /// The phone has shown that it has its next ticket: the old one is void.
  case confirmed(DeviceID, ticket: TicketHash, key: Key32)
  /// A phone is no longer attached.
  case detached(DeviceID, LegEnd)
  /// A phone's key is down: ask the mesh from its seat, and answer with `tell`.
  case floorRequest(DeviceID, PhoneRequest)
  /// A phone let go of what it asked for or was granted; the last frame of its voice.
  case floorRelease(DeviceID, number: UInt32, lastFrame: UInt32)
  /// A phone that asked for or held the floor fell silent or was detached: release it.
  case floorLost(DeviceID, number: UInt32)
  /// A phone that lost the floor knows it, or had the time to: it may be woken for others.
  case floorTold(DeviceID, number: UInt32)
  /// Voice of a phone that holds the floor: the place of `VoiceHeader` and frames in the datagram
  /// just received.
  case voice(DeviceID, body: Range<Int>)
  /// A push token; answer with `registered`.
  case register(DeviceID, PhoneToken.Kind, Push.Environment, token: [UInt8])
  /// The app came or went, or its person allows another loudness.
  case state(DeviceID, foreground: Bool, allowed: InterruptionLevel)
  /// The phone left the channel for good.
  case left(DeviceID)
  /// The phone is at another address, and has shown it.
  case moved(DeviceID, Endpoint)
}

/// What was dropped, by reason.
package struct LegCounts: Hashable, Sendable {
  /// Wrong size, version, type or zero bytes, or an ATTACH for another gateway.
  package var malformed = 0
  /// An index that no leg has.
  package var unknown = 0
  /// A counter seen before or too old.
  package var replayed = 0
  /// A wrong tag.
  package var forged = 0
  /// Authentic content that can't be read, or comes out of its time.
  package var unusable = 0
  /// A ticket, channel or key that is not the registry's.
  package var refused = 0
  /// More than a rate or a limit allows.
  package var flooded = 0
  /// Left undone for want of entropy or room.
  package var starved = 0

  /// Nothing dropped.
  package init() {}
}

/// The legs of all attached phones: a machine without I/O, clock and chance.
///
/// How to drive it: hand it every datagram of the phones' port (`receive`); after a frame was put
/// into the burst buffer or a burst began or ended, `pump` its channel; call `wake` at `deadline`;
/// answer `.lookUp` with `found`, floor events with `tell`, `.register` with `registered`. After
/// each call send all of `popOutgoing` and act on all of `popEvent`, while the received datagram
/// and the slab are still there. Where things are: opening in `+Attach`, what phones say in
/// `+Receive`, what they hear in `+Stream`, their floor in `+Floor`, timers in `+Wake`.
package struct LegTable {
  /// This gateway's identity: phones know its X25519 key.
  let identity: Identity
  let gatewayKey: Key32
  /// This gateway's node: a burst from a phone's own seat is not sent back to it.
  let peer: PeerID
  var legs = OrderedTable<UInt32, Leg>(limit: LegLimits.legs)
  /// The leg in use of a phone; a new one takes its place when it is confirmed.
  var homes = OrderedTable<DeviceID, UInt32>(limit: LegLimits.legs)
  var pending = OrderedTable<AttachID, PendingAttach>(limit: LegLimits.pending)
  var nextAttach: UInt64 = 1
  var sources = SourceLimiter()
  var attaches = RateLimit(LegLimits.attaches)
  var events = BoundedQueue<LegEvent>(limit: LegLimits.events)
  var outgoing = BoundedQueue<SealedDatagram>(limit: LegLimits.outgoing)
  /// What was dropped.
  package internal(set) var counts = LegCounts()

  /// A table without legs.
  package init(identity: Identity) {
    self.identity = identity
    gatewayKey = identity.publicIdentity.agreement
    peer = identity.publicIdentity.peerID
  }

  /// The next event; nil when there is none.
  package mutating func popEvent() -> LegEvent? { events.popFirst() }

  /// The next datagram to send; nil when there is none.
  package mutating func popOutgoing() -> SealedDatagram? { outgoing.popFirst() }

  /// True when the phone has a leg.
  package func isAttached(_ device: DeviceID) -> Bool { homes[device] != nil }

  mutating func emit(_ event: LegEvent) {
    if !events.append(event) { counts.starved += 1 }
  }

  /// Copies a finished datagram into the slab and queues it.
  mutating func send(_ bytes: [UInt8], to endpoint: Endpoint, slab: Slab) {
    guard let range = slab.reserve(bytes.count) else {
      counts.starved += 1
      return
    }
    unsafe slab[range].copyBytes(from: bytes)
    queue(range, endpoint)
  }

  private mutating func queue(_ range: Range<Int>, _ endpoint: Endpoint) {
    if !outgoing.append(SealedDatagram(range: range, endpoint: endpoint)) { counts.starved += 1 }
  }

  /// Seals a message and queues it, to another endpoint than the leg's if one is given. False when
  /// there is no room, or the address has shown too little.
  @discardableResult
  mutating func send(
    kind: UInt8, _ body: [UInt8], over leg: Leg, to endpoint: Endpoint? = nil, padded: Bool = true,
    slab: Slab, now: Instant
  ) -> Bool {
    let exact = Plaintext.headerSize + body.count
    let size = padded ? Plaintext.paddedSize(bodyCount: body.count) ?? exact : exact
    let total = size + DataDatagram.overhead
    if leg.confirmBy != nil {
      guard total <= leg.allowance else { return false }
      leg.allowance -= total
    }
    guard total <= Datagrams.limit, let range = slab.reserve(total) else {
      counts.starved += 1
      return false
    }
    let buffer = unsafe slab[range]
    let text = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer[Datagrams.headerSize..<Datagrams.headerSize + size])
    var writer = unsafe ByteWriter(text.mutableBytes)
    PlaintextHeader(kind: kind, flags: 0, length: body.count).write(to: &writer)
    writer.bytes(body)
    writer.zeros(size - exact)
    guard unsafe leg.transport.seal(buffer) else {
      slab.shrink(to: range.lowerBound)
      return false
    }
    leg.lastSent = now
    queue(range, endpoint ?? leg.endpoint)
    return true
  }

  @discardableResult
  mutating func send(
    _ message: LegMessage, over leg: Leg, to endpoint: Endpoint? = nil, slab: Slab, now: Instant
  ) -> Bool {
    send(
      kind: message.kind, message.body, over: leg, to: endpoint, slab: slab, now: now)
  }

  /// Drops a leg, and what hangs on it.
  mutating func drop(_ leg: Leg, _ end: LegEnd) {
    legs[leg.index] = nil
    if let floor = leg.floor {
      leg.floor = nil
      emit(.floorLost(leg.device, number: floor.request.number))
    }
    if homes[leg.device] == leg.index {
      homes[leg.device] = nil
      emit(.detached(leg.device, end))
    }
  }

  /// The leg in use of a phone.
  func leg(of device: DeviceID) -> Leg? { homes[device].flatMap { legs[$0] } }

  // MARK: What the gateway says

  /// A token was taken, or not.
  package mutating func registered(
    _ device: DeviceID, _ kind: PhoneToken.Kind, _ environment: Push.Environment, taken: Bool,
    slab: Slab, now: Instant
  ) {
    guard let leg = leg(of: device) else { return }
    send(.registered(kind, environment, taken: taken), over: leg, slab: slab, now: now)
  }

  /// A call is over; false when the phone is not attached: it will find out when it comes.
  @discardableResult
  package mutating func endCall(
    _ call: BurstID, to device: DeviceID, slab: Slab, now: Instant
  ) -> Bool {
    guard let leg = leg(of: device) else { return false }
    return send(.callEnded(call), over: leg, slab: slab, now: now)
  }

  /// The phone was removed: tells it if it is attached, and forgets it.
  package mutating func remove(_ device: DeviceID, slab: Slab, now: Instant) {
    for leg in Array(legs.values) where leg.device == device {
      send(.leave, over: leg, slab: slab, now: now)
      drop(leg, .replaced)
    }
  }
}
