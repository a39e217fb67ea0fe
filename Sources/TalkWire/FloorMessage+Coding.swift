package import TalkCore

extension FloorMessage {
  /// Appends the body of this message.
  package func write(to writer: inout ByteWriter) {
    switch self {
    case .request(let request): Self.write(request, to: &writer)
    case .grant(let chain, let queue):
      Self.write(chain, to: &writer)
      Self.write(queue, to: &writer)
    case .taken(let token, let talking, let chain, let queue):
      writer.u8(talking ? 1 : 0)
      token.write(to: &writer)
      Self.write(chain, to: &writer)
      Self.write(queue, to: &writer)
    case .deny(let request, let seat, let reason):
      writer.u64(request)
      writer.u16(seat)
      writer.u8(reason.rawValue)
    case .queue(let asking, let token, let entries):
      writer.u8(asking ? 1 : 0)
      token.write(to: &writer)
      Self.write(entries, to: &writer)
    case .release(let token, let lastFrame):
      token.write(to: &writer)
      writer.u32(lastFrame)
    case .heartbeat(let token, let talking, let previous, let queueDigest):
      token.write(to: &writer)
      writer.u8(talking ? 1 : 0)
      previous.write(to: &writer)
      writer.u32(queueDigest)
    case .cancel(let request, let requester, let seat):
      writer.u64(request)
      writer.bytes16(requester.value)
      writer.u16(seat)
    default: writeAnswer(to: &writer)
    }
  }

  private func writeAnswer(to writer: inout ByteWriter) {
    switch self {
    case .vacant(let request, let highestTurn, let token):
      writer.u64(request)
      writer.u48(highestTurn)
      writer.u8(token == nil ? 0 : 1)
      if let token { token.write(to: &writer) } else { writer.zeros(Token.size) }
    case .alive(let request, let token, let age):
      writer.u64(request)
      token.write(to: &writer)
      writer.u16(age)
    case .none(let request, let highestTurn), .unreached(let request, let highestTurn):
      writer.u64(request)
      writer.u48(highestTurn)
    case .stale(let token, let idle, let age, let highestTurn):
      token.write(to: &writer)
      writer.u8(idle ? 1 : 0)
      writer.u16(age)
      writer.u48(highestTurn)
    case .fence(let token): token.write(to: &writer)
    default: preconditionFailure("\(kind) is not an answer")
    }
  }

  private static func write(_ request: FloorRequest, to writer: inout ByteWriter) {
    writer.u64(request.request)
    writer.bytes16(request.requester.value)
    writer.u16(request.seat)
    writer.u8(request.floorClass.rawValue)
    writer.u8(request.spread.rawValue)
    writer.u48(request.counter)
    writer.u16(request.attempt)
    request.signature.write(to: &writer)
  }

  private static func write(_ chain: [Grant], to writer: inout ByteWriter) {
    let newest = chain.suffix(chainLimit)
    writer.u8(UInt8(newest.count))
    for grant in newest { grant.write(to: &writer) }
  }

  private static func write(_ queue: [QueueEntry], to writer: inout ByteWriter) {
    let first = queue.prefix(queueLimit)
    writer.u8(UInt8(first.count))
    for entry in first {
      writer.u8(entry.floorClass.rawValue)
      writer.u64(entry.request)
      writer.bytes16(entry.peer.value)
      writer.u16(entry.seat)
    }
  }

  /// Reads the body of a message of `kind`; nil for another kind, too few bytes, or a value that
  /// the layout does not allow. Bytes behind the body are not looked at: later versions add there.
  package init?(kind: Kind, from reader: inout ByteReader) {
    let message: FloorMessage? =
      switch kind {
      case .request: Self.readRequest(&reader)
      case .grant: Self.readGrant(&reader)
      case .taken: Self.readTaken(&reader)
      case .queue: Self.readQueueMessage(&reader)
      case .heartbeat: Self.readHeartbeat(&reader)
      case .deny, .release, .cancel, .fence: Self.readSmall(kind, &reader)
      case .vacant, .alive, .none, .unreached, .stale: Self.readAnswer(kind, &reader)
      default: nil
      }
    guard let message, !reader.failed else { return nil }
    self = message
  }

  private static func readRequest(_ reader: inout ByteReader) -> FloorMessage? {
    guard let request = reader.u64(), let requester = reader.bytes16(), let seat = reader.u16(),
      let rawClass = reader.u8(), let rawSpread = reader.u8(), let counter = reader.u48(),
      let floorClass = FloorClass(rawValue: rawClass),
      let spread = FloorRequest.Spread(rawValue: rawSpread), let attempt = reader.u16(),
      let signature = Signature64(from: &reader)
    else { return nil }
    var message = FloorRequest(
      request: request, requester: PeerID(requester), seat: seat, floorClass: floorClass,
      spread: spread, counter: counter, attempt: attempt)
    message.signature = signature
    return .request(message)
  }

  private static func readChain(_ reader: inout ByteReader) -> [Grant]? {
    guard let count = reader.u8(), count <= chainLimit else { return nil }
    var chain: [Grant] = []
    for _ in 0..<count {
      guard let grant = Grant(from: &reader) else { return nil }
      chain.append(grant)
    }
    return chain
  }

  private static func readQueue(_ reader: inout ByteReader) -> [QueueEntry]? {
    guard let count = reader.u8(), count <= queueLimit else { return nil }
    var queue: [QueueEntry] = []
    for _ in 0..<count {
      guard let rawClass = reader.u8(), let request = reader.u64(), let peer = reader.bytes16(),
        let seat = reader.u16(), let floorClass = FloorClass(rawValue: rawClass)
      else { return nil }
      queue.append(
        QueueEntry(floorClass: floorClass, request: request, peer: PeerID(peer), seat: seat))
    }
    return queue
  }

  private static func readFlag(_ reader: inout ByteReader) -> Bool? {
    guard let byte = reader.u8(), byte <= 1 else { return nil }
    return byte == 1
  }

  private static func readGrant(_ reader: inout ByteReader) -> FloorMessage? {
    guard let chain = readChain(&reader), !chain.isEmpty, let queue = readQueue(&reader) else {
      return nil
    }
    return .grant(chain: chain, queue: queue)
  }

  private static func readTaken(_ reader: inout ByteReader) -> FloorMessage? {
    guard let talking = readFlag(&reader), let token = Token(from: &reader),
      let chain = readChain(&reader), let queue = readQueue(&reader)
    else { return nil }
    return .taken(token: token, talking: talking, chain: chain, queue: queue)
  }

  private static func readQueueMessage(_ reader: inout ByteReader) -> FloorMessage? {
    guard let asking = readFlag(&reader), let token = Token(from: &reader),
      let entries = readQueue(&reader)
    else { return nil }
    return .queue(asking: asking, token: token, entries: entries)
  }

  private static func readHeartbeat(_ reader: inout ByteReader) -> FloorMessage? {
    guard let token = Token(from: &reader), let talking = readFlag(&reader),
      let previous = Token(from: &reader), let digest = reader.u32()
    else { return nil }
    return .heartbeat(token: token, talking: talking, previous: previous, queueDigest: digest)
  }

  private static func readSmall(_ kind: Kind, _ reader: inout ByteReader) -> FloorMessage? {
    switch kind {
    case .deny:
      guard let request = reader.u64(), let seat = reader.u16(), let raw = reader.u8(),
        let reason = DenyReason(rawValue: raw)
      else { return nil }
      return .deny(request: request, seat: seat, reason: reason)
    case .release:
      guard let token = Token(from: &reader), let lastFrame = reader.u32() else { return nil }
      return .release(token: token, lastFrame: lastFrame)
    case .cancel:
      guard let request = reader.u64(), let requester = reader.bytes16(), let seat = reader.u16()
      else { return nil }
      return .cancel(request: request, requester: PeerID(requester), seat: seat)
    default:
      return Token(from: &reader).map { .fence(token: $0) }
    }
  }

  private static func readAnswer(_ kind: Kind, _ reader: inout ByteReader) -> FloorMessage? {
    switch kind {
    case .stale:
      guard let token = Token(from: &reader), let idle = readFlag(&reader),
        let age = reader.u16(), let turn = reader.u48()
      else { return nil }
      return .stale(token: token, idle: idle, age: age, highestTurn: turn)
    case .alive:
      guard let request = reader.u64(), let token = Token(from: &reader), let age = reader.u16()
      else { return nil }
      return .alive(request: request, token: token, age: age)
    default:
      guard let request = reader.u64(), let turn = reader.u48() else { return nil }
      if kind == .none { return FloorMessage.none(request: request, highestTurn: turn) }
      if kind == .unreached { return .unreached(request: request, highestTurn: turn) }
      guard let has = readFlag(&reader) else { return nil }
      guard has else {
        guard reader.zeros(Token.size) else { return nil }
        return .vacant(request: request, highestTurn: turn, token: nil)
      }
      return Token(from: &reader).map {
        .vacant(request: request, highestTurn: turn, token: $0)
      }
    }
  }
}
