import TalkCore
import TalkWire
import Testing

private func encoded(_ size: Int, _ write: (inout ByteWriter) -> Void) -> [UInt8] {
  var bytes = [UInt8](repeating: 0xaa, count: size)
  var offset = 0
  var failed = true
  bytes.withUnsafeMutableBytes { buffer in
    var writer = ByteWriter(MutableRawSpan(_unsafeBytes: buffer))
    write(&writer)
    offset = writer.offset
    failed = writer.failed
  }
  #expect(offset == size && !failed)
  return bytes
}

private let entry = PeerExchangeEntry(
  peer: PeerID(Bytes16(high: 1, low: 2)), endpoint: Endpoint(ipv4: 0x0a00_0001, port: 41_717),
  age: 7)
private let hello = HelloBody(
  bootInstance: 0x1122_3344_5566_7788, counter: 9, port: 41_717, entries: [entry, entry])
private let presence = PresenceBody(
  flags: [.hearsYou, .hasEcho], sequence: 1, sentAt: 2, echo: 3, echoDelay: 4, received: 31,
  expected: 32, uptime: 5, rosterDigest: Bytes16(high: 6, low: 7))
private let admit = AdmitBody(
  channel: ChannelID(Bytes16(high: 1, low: 1)), epoch: 2, by: PeerID(Bytes16(high: 3, low: 3)),
  number: 4, signingKey: [UInt8](repeating: 5, count: 32),
  agreementKey: [UInt8](repeating: 6, count: 32), role: 1, classes: 9,
  signature: [UInt8](repeating: 7, count: 64))

@Suite("Bodies of the mesh")
struct MeshBodiesTests {
  @Test("a hello is read as it was written, with 0 to 4 entries", arguments: 0...4)
  func helloRoundTrip(count: Int) {
    var body = hello
    body.entries = Array(repeating: entry, count: count)
    let bytes = encoded(HelloBody.size) { body.write(to: &$0) }
    #expect(HelloBody(reading: bytes.span.bytes) == body)
  }

  @Test("a fifth entry is left out of a hello")
  func helloEntryLimit() {
    let body = HelloBody(
      bootInstance: 1, counter: 1, port: 1, entries: Array(repeating: entry, count: 5))
    #expect(body.entries.count == 4)
  }

  @Test("a hello datagram is 256 bytes, and its first bytes are where the table says")
  func helloLayout() {
    #expect(HelloDatagram.size == 256)
    let bytes = encoded(HelloBody.size) { hello.write(to: &$0) }
    #expect(Array(bytes[0..<8]) == [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11])
    #expect(Array(bytes[16..<19]) == [0xf5, 0xa2, 2])
    #expect(bytes[91...].allSatisfy { $0 == 0 })
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let at: Int
    let value: UInt8
    static let hello = [
      Wrong(testDescription: "five entries", at: 18, value: 5),
      Wrong(testDescription: "padding that is not zero", at: 191, value: 1),
      Wrong(testDescription: "padding right behind the entries", at: 91, value: 1),
    ]
    static let presence = [
      Wrong(testDescription: "a flag that has no meaning", at: 0, value: 0x20),
      Wrong(testDescription: "more received than looked for", at: 17, value: 33),
      Wrong(testDescription: "more looked for than the window holds", at: 18, value: 33),
    ]
  }

  @Test("a hello is refused for", arguments: Wrong.hello)
  func helloRefused(_ wrong: Wrong) {
    var bytes = encoded(HelloBody.size) { hello.write(to: &$0) }
    bytes[wrong.at] = wrong.value
    #expect(HelloBody(reading: bytes.span.bytes) == nil)
  }

  @Test("a hello without a port is refused")
  func helloWithoutPort() {
    var body = hello
    body.port = 0
    let bytes = encoded(HelloBody.size) { body.write(to: &$0) }
    #expect(HelloBody(reading: bytes.span.bytes) == nil)
  }

  @Test("a presence is read as it was written, and fits the smallest class")
  func presenceRoundTrip() {
    let bytes = encoded(PresenceBody.size) { presence.write(to: &$0) }
    #expect(PresenceBody(reading: bytes.span.bytes) == presence)
    #expect(Plaintext.paddedSize(bodyCount: PresenceBody.size) == 64)
    #expect(bytes[0] == 9 && bytes[17] == 31 && bytes[18] == 32)
  }

  @Test("a presence is refused for", arguments: Wrong.presence)
  func presenceRefused(_ wrong: Wrong) {
    var bytes = encoded(PresenceBody.size) { presence.write(to: &$0) }
    bytes[wrong.at] = wrong.value
    #expect(PresenceBody(reading: bytes.span.bytes) == nil)
  }

  @Test("an admit is read as it was written, and fits a padded datagram")
  func admitRoundTrip() {
    let bytes = encoded(AdmitBody.size) { admit.write(to: &$0) }
    #expect(AdmitBody(reading: bytes.span.bytes) == admit)
    #expect(AdmitBody.size <= 316)
    #expect(bytes[8] == 1 && AdmitBody.signedRange == 1..<115)
    #expect(bytes[113] == 1 && bytes[114] == 9 && bytes[115] == 7)
  }

  @Test("an admit of another version is refused", arguments: [0, 2, 255] as [UInt8])
  func admitVersion(version: UInt8) {
    var bytes = encoded(AdmitBody.size) { admit.write(to: &$0) }
    bytes[0] = version
    #expect(AdmitBody(reading: bytes.span.bytes) == nil)
  }

  @Test("roster digest and pull are read as they were written")
  func rosterRoundTrip() {
    let digest = RosterDigestBody(digest: Bytes16(high: 1, low: 2), count: 1_024)
    let pull = RosterPullBody(digest: Bytes16(high: 3, low: 4))
    let first = encoded(RosterDigestBody.size) { digest.write(to: &$0) }
    let second = encoded(RosterPullBody.size) { pull.write(to: &$0) }
    #expect(RosterDigestBody(reading: first.span.bytes) == digest)
    #expect(RosterPullBody(reading: second.span.bytes) == pull)
  }

  @Test("every other length is refused, one below and one above included")
  func lengths() {
    for count in 0...320 {
      let bytes = [UInt8](repeating: 1, count: count)
      let span = bytes.span.bytes
      if count != HelloBody.size { #expect(HelloBody(reading: span) == nil) }
      if count != PresenceBody.size { #expect(PresenceBody(reading: span) == nil) }
      if count != AdmitBody.size { #expect(AdmitBody(reading: span) == nil) }
      if count != RosterDigestBody.size { #expect(RosterDigestBody(reading: span) == nil) }
      if count != RosterPullBody.size { #expect(RosterPullBody(reading: span) == nil) }
    }
  }

  @Test("100,000 mutated bodies trap nowhere, and what is read is written the same")
  func mutated() {
    var generator = SeededGenerator(seed: 41)
    let helloBytes = encoded(HelloBody.size) { hello.write(to: &$0) }
    let presenceBytes = encoded(PresenceBody.size) { presence.write(to: &$0) }
    let admitBytes = encoded(AdmitBody.size) { admit.write(to: &$0) }
    var read = 0
    for round in 0..<100_000 {
      var bytes = [helloBytes, presenceBytes, admitBytes][round % 3]
      for _ in 0...Int.random(in: 0..<3, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8(
          truncatingIfNeeded: generator.next())
      }
      if round % 7 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator)) }
      if let body = HelloBody(reading: bytes.span.bytes) {
        read += 1
        #expect(encoded(HelloBody.size) { body.write(to: &$0) } == bytes)
      }
      if let body = PresenceBody(reading: bytes.span.bytes) {
        read += 1
        #expect(encoded(PresenceBody.size) { body.write(to: &$0) } == bytes)
      }
      if let body = AdmitBody(reading: bytes.span.bytes) {
        read += 1
        #expect(encoded(AdmitBody.size) { body.write(to: &$0) } == bytes)
      }
    }
    #expect(read > 10_000)
  }
}
