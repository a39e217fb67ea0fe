import TalkCore
import TalkWire
import Testing

/// Floor messages come out as they went in, and no bytes trap.
@Suite struct FloorMessageTests {
  private static func peer(_ number: UInt64) -> PeerID {
    PeerID(Bytes16(high: number, low: ~number))
  }

  private static func token(_ turn: UInt64, _ floorClass: FloorClass = .normal) -> Token {
    Token(
      id: TokenID(turn: turn, holder: peer(turn), seat: UInt16(turn & 7)), floorClass: floorClass)
  }

  private static func grant(_ turn: UInt64) -> Grant {
    Grant(
      from: token(turn), to: token(turn + 1), request: turn << 20,
      signature: Signature64([UInt8](repeating: UInt8(turn & 255), count: 64))!)
  }

  private static func queue(_ count: Int) -> [QueueEntry] {
    (0..<count).map { index in
      QueueEntry(
        floorClass: .priority, request: UInt64(index) << 33, peer: peer(UInt64(index)),
        seat: UInt16(index))
    }
  }

  static let all: [FloorMessage] = [
    .request(
      FloorRequest(
        request: 1 << 63, requester: peer(7), seat: 3, floorClass: .emergency, spread: .forwarded,
        counter: 1 << 47, attempt: 65_535)),
    .grant(chain: [grant(4)], queue: []),
    .grant(chain: [grant(4), grant(5), grant(6)], queue: queue(16)),
    .taken(token: token(9, .imminentPeril), talking: true, chain: [], queue: queue(1)),
    .taken(
      token: token(9), talking: false, chain: [grant(6), grant(7), grant(8)], queue: queue(16)),
    .deny(request: 5, seat: 1, reason: .queueFull),
    .queue(asking: true, token: token(3), entries: []),
    .queue(asking: false, token: token(3), entries: queue(16)),
    .release(token: token(Token.turnLimit), lastFrame: .max),
    .heartbeat(token: token(2), talking: true, previous: token(1), queueDigest: 0xdead_beef),
    .cancel(request: 8, requester: peer(8), seat: 65_535),
    .vacant(request: 9, highestTurn: 10, token: nil),
    .vacant(request: 9, highestTurn: 10, token: token(10)),
    .alive(request: 0, token: token(11), age: 249),
    .none(request: 12, highestTurn: 13),
    .unreached(request: 14, highestTurn: Token.turnLimit),
    .stale(token: token(15), idle: true, age: 65_535, highestTurn: 16),
    .fence(token: token(17)),
  ]

  private func encode(_ message: FloorMessage) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xaa, count: FloorMessage.bodyLimit)
    var span = bytes.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    message.write(to: &writer)
    let (failed, count) = (writer.failed, writer.offset)
    #expect(!failed)
    return Array(bytes[..<count])
  }

  private func decode(_ bytes: [UInt8], as kind: Kind) -> FloorMessage? {
    var reader = ByteReader(bytes.span.bytes)
    return FloorMessage(kind: kind, from: &reader)
  }

  @Test(arguments: all) func aMessageIsReadAsItWasWritten(message: FloorMessage) {
    let bytes = encode(message)
    #expect(decode(bytes, as: message.kind) == message)
    #expect(Plaintext.paddedSize(bodyCount: bytes.count) != nil)
  }

  @Test(arguments: all) func aMessageCutShortIsRefused(message: FloorMessage) {
    let bytes = encode(message)
    for count in bytes.indices {
      #expect(decode(Array(bytes[..<count]), as: message.kind) == nil, "\(count) bytes")
    }
  }

  @Test(arguments: all) func aMessageWithAFlippedBitNeverTraps(message: FloorMessage) {
    let bytes = encode(message)
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      if let read = decode(changed, as: message.kind) { #expect(encode(read).count > 0) }
    }
  }

  @Test func randomBytesNeverTrap() {
    var generator = SeededGenerator(seed: 4_711)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...900, using: &generator)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      for kind in Kind.allCases { _ = decode(Array(bytes.prefix(64)), as: kind) }
      _ = decode(bytes, as: .grant)
      _ = decode(bytes, as: .taken)
    }
  }

  @Test func moreThanTheLimitsAllowIsRefused() {
    var grants = encode(.grant(chain: [Self.grant(1)], queue: []))
    grants[0] = 4
    #expect(decode(grants + [UInt8](repeating: 0, count: 1_000), as: .grant) == nil)
    grants[0] = 0
    #expect(decode(grants, as: .grant) == nil)
    var queue = encode(.queue(asking: false, token: Self.token(1), entries: []))
    queue[1 + Token.size] = 17
    #expect(decode(queue + [UInt8](repeating: 0, count: 1_000), as: .queue) == nil)
  }

  @Test func theSignedBytesTellEveryPartApart() {
    let channel = ChannelID(Bytes16(high: 1, low: 2))
    let base = Self.grant(1).signedBytes(channel: channel)
    var other = Self.grant(1)
    other.request += 1
    #expect(other.signedBytes(channel: channel) != base)
    other = Self.grant(1)
    other.to.floorClass = .emergency
    #expect(other.signedBytes(channel: channel) != base)
    #expect(Self.grant(1).signedBytes(channel: ChannelID(.zero)) != base)
  }

  @Test func aReportIsReadAsItWasWritten() {
    let report = ReportBody(token: Self.token(3), heard: 7, missed: 9)
    var bytes = [UInt8](repeating: 0, count: ReportBody.size)
    var span = bytes.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    report.write(to: &writer)
    var reader = ByteReader(bytes.span.bytes)
    #expect(ReportBody(from: &reader) == report)
    var short = ByteReader(Array(bytes.dropLast()).span.bytes)
    #expect(ReportBody(from: &short) == nil)
  }
}
