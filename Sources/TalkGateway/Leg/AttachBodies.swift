package import TalkCore
package import TalkWire

/// What a phone says in ATTACH: 75 bytes, then zeros.
///
/// | bytes | field |
/// |---|---|
/// | 32 | its ticket |
/// | 16 | the channel's UUID as the phone knows it |
/// | 16, 4 | the burst that it heard last, or zeros; its last frame of that, 2^32−1 for none |
/// | 1 | bit 0 in the foreground, bit 1 asks for the floor; others zero |
/// | 1, 4 | class and number of that request; else zero |
/// | 1 | the loudest notification that its person allows |
package struct AttachBody: Hashable, Sendable {
  /// Bytes before the zeros.
  package static let size = 75
  /// "No frame", wherever a frame's number stands.
  package static let noFrame = UInt32.max

  /// The ticket, 32 bytes.
  package var ticket: [UInt8]
  /// The channel's UUID as the phone knows it.
  package var channel: Bytes16
  /// The burst that it heard last.
  package var lastBurst: BurstID
  /// The last frame that it has of it.
  package var lastFrame: UInt32
  /// True when the app is on the screen.
  package var isForeground: Bool
  /// The request for the floor, if there is one.
  package var request: PhoneRequest?
  /// The loudest notification that its person allows.
  package var allowed: InterruptionLevel

  /// Makes a body of its parts.
  package init(
    ticket: [UInt8], channel: Bytes16, lastBurst: BurstID = .none, lastFrame: UInt32 = noFrame,
    isForeground: Bool = false, request: PhoneRequest? = nil,
    allowed: InterruptionLevel = .active
  ) {
    (self.ticket, self.channel, self.lastBurst) = (ticket, channel, lastBurst)
    (self.lastFrame, self.isForeground) = (lastFrame, isForeground)
    (self.request, self.allowed) = (request, allowed)
  }

  /// Reads a whole payload; nil when a field has no meaning or what follows is not zero.
  package init?(_ payload: [UInt8]) {
    var reader = unsafe ByteReader(payload.span.bytes)
    guard let ticket = reader.bytes(32), let channel = reader.bytes16(),
      let burst = reader.bytes16(), let frame = reader.u32(), let flags = reader.u8(),
      let rawClass = reader.u8(), let number = reader.u32(), let level = reader.u8(),
      reader.zeros(reader.remaining), flags & ~3 == 0,
      let floorClass = FloorClass(rawValue: rawClass),
      let allowed = InterruptionLevel(rawValue: level),
      flags & 2 != 0 || rawClass == 0 && number == 0
    else { return nil }
    self.init(
      ticket: ticket, channel: channel, lastBurst: BurstID(burst), lastFrame: frame,
      isForeground: flags & 1 != 0,
      request: flags & 2 != 0 ? PhoneRequest(number: number, floorClass: floorClass) : nil,
      allowed: allowed)
  }

  /// The payload, filled up to its one size.
  package var payload: [UInt8] {
    LegMessage.write(size: AttachDatagrams.attachPayload) { writer in
      writer.bytes(ticket)
      writer.bytes16(channel)
      writer.bytes16(lastBurst.value)
      writer.u32(lastFrame)
      writer.u8((isForeground ? 1 : 0) | (request != nil ? 2 : 0))
      writer.u8(request?.floorClass.rawValue ?? 0)
      writer.u32(request?.number ?? 0)
      writer.u8(allowed.rawValue)
    }
  }
}

/// A phone's request for the floor; its own numbers rise.
package struct PhoneRequest: Hashable, Sendable {
  /// The phone's number for it.
  package var number: UInt32
  /// How urgent.
  package var floorClass: FloorClass

  /// Makes a request.
  package init(number: UInt32, floorClass: FloorClass) {
    (self.number, self.floorClass) = (number, floorClass)
  }
}

/// What the gateway says in ATTACHED: status 1, next ticket 32, seat 2, then items as in DATA (kind
/// 1, flags 1, length 2, body), one behind the other: the burst that runs, and its first frames.
package struct AttachedBody: Hashable, Sendable {
  /// Bytes before the items.
  package static let size = 35

  /// Whether the phone is attached.
  package enum Status: UInt8, Sendable {
    /// It is.
    case attached = 0
    /// Its ticket or key is not the one that is known: the QR code must be scanned anew.
    case refused = 1
    /// The gateway has as many phones as it can serve, or no answer of its registry: later.
    case busy = 2
  }

  /// Whether the phone is attached; the rest is zero when not.
  package var status: Status
  /// The ticket for the next time.
  package var ticket: [UInt8]
  /// From which seat the phone speaks.
  package var seat: UInt16
  /// The items, encoded.
  package var items: [UInt8]

  /// Makes a body of its parts.
  package init(status: Status, ticket: [UInt8], seat: UInt16, items: [UInt8]) {
    (self.status, self.ticket, self.seat, self.items) = (status, ticket, seat, items)
  }

  /// Reads a payload; nil when it is too short or the status unknown. Items are read by `each`.
  package init?(_ payload: [UInt8]) {
    var reader = unsafe ByteReader(payload.span.bytes)
    guard let raw = reader.u8(), let status = Status(rawValue: raw),
      let ticket = reader.bytes(32), let seat = reader.u16(),
      let items = reader.bytes(reader.remaining)
    else { return nil }
    self.init(status: status, ticket: ticket, seat: seat, items: items)
  }

  /// The payload.
  package var payload: [UInt8] {
    [status.rawValue] + ticket
      + [UInt8(truncatingIfNeeded: seat), UInt8(truncatingIfNeeded: seat >> 8)] + items
  }

  /// The items in order: kind and body; false when they do not end where the payload does.
  package func each(_ body: (UInt8, [UInt8]) -> Void) -> Bool {
    var reader = unsafe ByteReader(items.span.bytes)
    while reader.remaining > 0 {
      guard let kind = reader.u8(), reader.zeros(1), let count = reader.u16(),
        let bytes = reader.bytes(Int(count))
      else { return false }
      body(kind, bytes)
    }
    return true
  }
}
