import TalkCore
import TalkWire

extension LegMessage {
  /// The body.
  package var body: [UInt8] {
    Self.write { writer in
      switch self {
      case .keepalive, .sleep, .leave: break
      case .burst(let id, let turn, let seat, let floorClass, let length, let name):
        writer.bytes16(id.value)
        writer.u48(turn)
        writer.u16(seat)
        writer.u8(floorClass.rawValue)
        writer.u8(length.rawValue)
        let text = Array(SafeText.cut(name).utf8)
        writer.u8(UInt8(text.count))
        writer.bytes(text)
      case .burstEnd(let id, let frame):
        writer.bytes16(id.value)
        writer.u32(frame)
      case .received(let id, let next, let bits, let knowsEnd):
        writer.bytes16(id.value)
        writer.u32(next)
        writer.u64(bits)
        writer.u8(knowsEnd ? 1 : 0)
      case .request(let request):
        writer.u32(request.number)
        writer.u8(request.floorClass.rawValue)
      case .release(let number, let frame):
        writer.u32(number)
        writer.u32(frame)
      case .floor(let number, let floor): Self.write(number, floor, to: &writer)
      case .told(let number, let state):
        writer.u32(number)
        writer.u8(state)
      case .challenge(let value), .response(let value): writer.u64(value)
      case .register(let kind, let environment, let token):
        writer.u8(kind.rawValue)
        writer.u8(UInt8(environment.number))
        writer.bytes(token)
      case .registered(let kind, let environment, let taken):
        writer.u8(kind.rawValue)
        writer.u8(UInt8(environment.number))
        writer.u8(taken ? 1 : 0)
      case .state(let foreground, let allowed):
        writer.u8(foreground ? 1 : 0)
        writer.u8(allowed.rawValue)
      case .callEnded(let call): writer.bytes16(call.value)
      }
    }
  }

  private static func write(_ number: UInt32, _ floor: PhoneFloor, to writer: inout ByteWriter) {
    var detail: UInt8 = 0
    var turn: UInt64 = 0
    switch floor {
    case .refused(let value), .queued(let value): detail = value
    case .granted(let value): turn = value
    case .ended, .preempted: break
    }
    writer.u32(number)
    writer.u8(floor.number)
    writer.u8(detail)
    writer.u48(turn)
  }

  /// Reads a body; nil for an unknown kind, another size, or a field without meaning.
  package init?(kind: UInt8, _ body: [UInt8]) {
    var reader = unsafe ByteReader(body.span.bytes)
    guard let message = Self.read(kind, &reader), reader.remaining == 0, !reader.failed else {
      return nil
    }
    self = message
  }

  private static func read(_ kind: UInt8, _ reader: inout ByteReader) -> LegMessage? {
    switch kind {
    case 0x40: return .keepalive
    case 0x41: return readBurst(&reader)
    case 0x42:
      guard let id = reader.bytes16(), let frame = reader.u32() else { return nil }
      return .burstEnd(BurstID(id), lastFrame: frame)
    case 0x43:
      guard let id = reader.bytes16(), let next = reader.u32(), let bits = reader.u64(),
        let flags = reader.u8(), flags <= 1
      else { return nil }
      return .received(BurstID(id), next: next, bits: bits, knowsEnd: flags == 1)
    case 0x44:
      guard let number = reader.u32(), let raw = reader.u8(),
        let floorClass = FloorClass(rawValue: raw)
      else { return nil }
      return .request(PhoneRequest(number: number, floorClass: floorClass))
    case 0x45:
      guard let number = reader.u32(), let frame = reader.u32() else { return nil }
      return .release(number: number, lastFrame: frame)
    case 0x46:
      guard let number = reader.u32(), let state = reader.u8(), let detail = reader.u8(),
        let turn = reader.u48(), let floor = PhoneFloor(number: state, detail: detail, turn: turn)
      else { return nil }
      return .floor(number: number, floor)
    case 0x47:
      guard let number = reader.u32(), let state = reader.u8(), state <= 4 else { return nil }
      return .told(number: number, state: state)
    case 0x48: return reader.u64().map { .challenge($0) }
    case 0x49: return reader.u64().map { .response($0) }
    default: return readRest(kind, &reader)
    }
  }

  private static func readRest(_ kind: UInt8, _ reader: inout ByteReader) -> LegMessage? {
    switch kind {
    case 0x4a:
      guard let (tokenKind, environment) = readToken(&reader),
        (1...PhoneToken.limit).contains(reader.remaining),
        let token = reader.bytes(reader.remaining)
      else { return nil }
      return .register(tokenKind, environment, token: token)
    case 0x4b:
      guard let (tokenKind, environment) = readToken(&reader), let taken = reader.u8(), taken <= 1
      else { return nil }
      return .registered(tokenKind, environment, taken: taken == 1)
    case 0x4c:
      guard let flags = reader.u8(), flags <= 1, let raw = reader.u8(),
        let level = InterruptionLevel(rawValue: raw)
      else { return nil }
      return .state(foreground: flags == 1, allowed: level)
    case 0x4d: return .sleep
    case 0x4e: return .leave
    case 0x4f: return reader.bytes16().map { .callEnded(BurstID($0)) }
    default: return nil
    }
  }

  private static func readToken(
    _ reader: inout ByteReader
  ) -> (PhoneToken.Kind, Push.Environment)? {
    guard let kind = reader.u8().flatMap({ PhoneToken.Kind(rawValue: $0) }),
      let environment = reader.u8().flatMap({ Push.Environment(number: Int64($0)) })
    else { return nil }
    return (kind, environment)
  }

  private static func readBurst(_ reader: inout ByteReader) -> LegMessage? {
    guard let id = reader.bytes16(), let turn = reader.u48(), let seat = reader.u16(),
      let floorClass = reader.u8().flatMap({ FloorClass(rawValue: $0) }),
      let length = reader.u8().flatMap({ FrameLength(rawValue: $0) }), let count = reader.u8(),
      count <= SafeText.nameLimit, let text = reader.bytes(Int(count)),
      let name = String(validating: text, as: UTF8.self)
    else { return nil }
    return .burst(
      BurstID(id), turn: turn, seat: seat, floorClass: floorClass, length: length, name: name)
  }
}
