import TalkCore
import TalkWire
import Testing

@Suite struct DatagramTests {
  struct Handshake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let head: [UInt8]
    var size = 192
    var poke: (at: Int, value: UInt8)?
    let isRead: Bool

    private static let initiation: [UInt8] = [1, 1, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    private static let response: [UInt8] = [2, 1, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 0, 0, 0, 0]

    static let all = [
      Handshake(testDescription: "INIT", head: initiation, isRead: true),
      Handshake(testDescription: "RESP", head: response, isRead: true),
      Handshake(testDescription: "a byte short", head: initiation, size: 191, isRead: false),
      Handshake(testDescription: "a byte long", head: initiation, size: 193, isRead: false),
      Handshake(testDescription: "version 2", head: initiation, poke: (1, 2), isRead: false),
      Handshake(testDescription: "COOKIE", head: initiation, poke: (0, 4), isRead: false),
      Handshake(testDescription: "byte 3 not zero", head: response, poke: (3, 1), isRead: false),
      Handshake(testDescription: "byte 15 not zero", head: response, poke: (15, 1), isRead: false),
      Handshake(
        testDescription: "INIT with receiver", head: initiation, poke: (8, 1), isRead: false),
      Handshake(
        testDescription: "RESP without receiver", head: Array(response[..<8]), isRead: false),
      Handshake(
        testDescription: "no sender", head: [2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], isRead: false),
      Handshake(testDescription: "mac2", head: initiation, poke: (191, 1), isRead: false),
      Handshake(testDescription: "mac1", head: initiation, poke: (175, 1), isRead: true),
    ]

    var bytes: [UInt8] {
      var bytes = head + [UInt8](repeating: 0, count: size - head.count)
      if let poke { bytes[poke.at] = poke.value }
      return bytes
    }
  }

  @Test(arguments: Handshake.all) func aHandshakeHeaderIsReadAsItMustBe(table: Handshake) {
    let header = HandshakeDatagram(table.bytes.span.bytes)
    #expect((header != nil) == table.isRead)
    guard let header else { return }
    #expect(header.sender == 0x0102_0304)
    #expect(header.receiver == (header.type == .initiation ? 0 : 0x0506_0708))
    var written = [UInt8](repeating: 0xff, count: 16)
    var span = written.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    header.write(to: &writer)
    #expect(writer.offset == Datagrams.headerSize)
    #expect(written == Array(table.bytes[..<16]))
  }

  @Test(arguments: [
    (DatagramType.initiation, 32 + 96 + 16), (.response, 32 + 48 + 48 + 16),
    (.final, 48 + 80 + 16),
  ])
  func payloadsFillTheMessage(type: DatagramType, size: Int) {
    let keys = size - HandshakeDatagram.payloadSize(type)
    #expect(keys + HandshakeDatagram.payloadSize(type) == HandshakeDatagram.message.count)
    #expect(HandshakeDatagram.mac2.upperBound == HandshakeDatagram.size)
  }

  @Test(arguments: [35, 36, 1_200, 1_201]) func dataHasItsLeastAndGreatestSize(size: Int) {
    let head: [UInt8] = [0x10, 1, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1]
    let bytes = head + [UInt8](repeating: 9, count: size - 16)
    let header = DataDatagram(bytes.span.bytes)
    #expect((header != nil) == (36...1_200).contains(size))
    if let header {
      #expect(header == DataDatagram(receiver: 0x0102_0304, counter: 0x0102_0304_0506_0708))
    }
    for (at, value) in [(0, UInt8(0x11)), (1, 0), (2, 1), (3, 1)] {
      var bad = bytes
      bad[at] = value
      #expect(DataDatagram(bad.span.bytes) == nil)
    }
  }

  @Test func typesAreTakenByFirstByteVersionAndSize() {
    for (type, size) in [(1, 192), (2, 192), (3, 192), (4, 72), (5, 256), (0x10, 40)] {
      let bytes = [UInt8(type), 1] + [UInt8](repeating: 0, count: size - 2)
      #expect(DatagramType(of: bytes.span.bytes)?.rawValue == UInt8(type))
    }
    for bytes: [UInt8] in [[], [1], [0, 1], [5, 1] + [UInt8](repeating: 0, count: 255)] {
      #expect(DatagramType(of: bytes.span.bytes) == nil)
    }
  }

  struct Text: Sendable {
    let bytes: [UInt8]
    let header: PlaintextHeader?
    static let all = [
      Text(bytes: [3, 1, 0, 0], header: PlaintextHeader(kind: 3, flags: 1, length: 0)),
      Text(bytes: [3, 1, 2, 0, 8, 9, 0], header: PlaintextHeader(kind: 3, flags: 1, length: 2)),
      Text(bytes: [3, 1, 2, 0, 8, 9, 0, 1], header: nil),
      Text(bytes: [3, 1, 3, 0, 8, 9], header: nil),
      Text(bytes: [3, 1, 0], header: nil),
      Text(bytes: [3, 1, 255, 255, 0], header: nil),
    ]
  }

  @Test(arguments: Text.all) func aBodyFitsAndZerosFollow(text: Text) {
    #expect(PlaintextHeader(text.bytes.span.bytes) == text.header)
  }

  @Test(arguments: [(0, 64), (60, 64), (61, 128), (316, 320), (1_020, 1_024)])
  func controlIsPaddedToTheNextSize(body: Int, size: Int) {
    #expect(Plaintext.paddedSize(bodyCount: body) == size)
    #expect(Plaintext.paddedSize(bodyCount: 1_021) == nil)
  }
}

@Suite struct AuthBodyTests {
  private let body = AuthBody(
    signingKey: [UInt8](repeating: 1, count: 32), agreementKey: [UInt8](repeating: 2, count: 32),
    boot: 0x0102_0304_0506_0708, capabilities: 9, sender: 10, receiver: 11, joining: true,
    nickname: "Zoë", rosterDigest: Bytes16(high: 12, low: 13),
    signature: [UInt8](repeating: 3, count: 64))

  private func written(_ body: AuthBody) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xff, count: AuthBody.size)
    var span = bytes.mutableSpan
    var writer = ByteWriter(span.mutableBytes)
    body.write(to: &writer)
    #expect(writer.offset == AuthBody.size && !writer.failed)
    return bytes
  }

  private func read(_ bytes: [UInt8]) -> AuthBody? {
    var reader = ByteReader(bytes.span.bytes)
    return AuthBody(from: &reader)
  }

  @Test func itIsReadAsItWasWrittenAndFitsItsClass() {
    #expect(read(written(body)) == body)
    #expect(read(written(body) + [1, 2, 3]) == body)
    #expect(Plaintext.paddedSize(bodyCount: AuthBody.size) == 320)
  }

  @Test func missingBytesAndBadNamesAreRefused() {
    let bytes = written(body)
    for length in 0..<bytes.count { #expect(read(Array(bytes[..<length])) == nil) }
    var long = bytes
    long[85] = 33
    #expect(read(long) == nil)
    var cut = bytes
    cut[85] = 3
    #expect(read(cut) == nil, "half a character")
  }

  @Test(arguments: [31, 32, 33, 400]) func aNicknameIsCutToThirtyTwoBytes(length: Int) {
    var long = body
    long = AuthBody(
      signingKey: body.signingKey, agreementKey: body.agreementKey, boot: 0, sender: 1,
      receiver: 2, joining: false, nickname: String(repeating: "x", count: length),
      rosterDigest: .zero, signature: body.signature)
    #expect(read(written(long))?.nickname.utf8.count == min(length, 32))
    #expect(read(written(long))?.joining == false)
  }
}
