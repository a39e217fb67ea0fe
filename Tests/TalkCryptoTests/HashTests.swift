import TalkCore
import TalkCrypto
import Testing

/// Known answers. Where no standard has one, they come from Python's hashlib and hmac.
@Suite struct HashTests {
  struct Case: Sendable {
    let size: Int
    let key: [UInt8]
    let digest: String
    static let all = [
      // RFC 7693, appendix A.
      Case(
        size: 64, key: [],
        digest: """
          ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1
          7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
          """),
      Case(
        size: 32, key: [],
        digest: "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
      Case(size: 16, key: [], digest: "cf4ab791c62b8d2b2109c90275287816"),
      Case(size: 16, key: rising(32), digest: "1a64be47e4729d951c302ee543f97cf3"),
    ]
  }

  @Test(arguments: Case.all) func blake2bGivesKnownDigests(known: Case) {
    #expect(Blake2b.hash(Array("abc".utf8), size: known.size, key: known.key) == hex(known.digest))
    var pieces = Blake2b(size: known.size, key: known.key)
    pieces.update("a")
    pieces.update(Array("bc".utf8))
    #expect(pieces.finalize() == hex(known.digest))
  }

  @Test func piecesOfEveryTypeAreFedInWireOrder() {
    let key = Key32(rising(32))!
    let half = Bytes16(rising(16, from: 32))
    var typed = Blake2b(size: 32)
    typed.update(key)
    typed.update(half)
    typed.update(0x3332_3130, width: 4)
    #expect(typed.finalize() == Blake2b.hash(rising(52), size: 32))
  }

  @Test func hmacGivesKnownAnswers() {
    let message = Array("talkaround".utf8)
    #expect(
      HMACBlake2b.authenticate(message, key: rising(64))
        == hex(
          """
          45250d16155eb5fd4fe68606ddc41783f5ce8ad5387e6e79510aef8a243b946b
          a170a3ae33a79fb943badf7217f05890ea26b2079f1f5ebd1905210c9dff1611
          """))
    #expect(
      HMACBlake2b.authenticate(message, key: rising(200))
        == hex(
          """
          e22cc14ae54c8377fb8cc770cc139cd1af64abeef2f1e4225c4ad22ba08a04f0
          a29ab7c057ed8032fa356dd200e9b134a988f651e2e1d1b451a3787b7e3e590f
          """))
  }

  @Test func noiseKeyDerivationGivesKnownAnswers() {
    let outputs = HMACBlake2b.expand(
      chainingKey: rising(64), material: Array("input".utf8), outputs: 3)
    #expect(
      outputs == [
        hex(
          """
          854ff4e7e6074bfe92f1a96cf706260641f9ba6fca788196587193a2664aed71
          dba5f8f8c078f3eedf196c3af46e417d0a8c8c43f79ead81c8714d03e501eded
          """),
        hex(
          """
          ce5595eb115a20218998812f1f84dad889b56b766edaad0fd39d8268762d3e9f
          56b6507ac77dc73ca13b4c2f0e4b704ef3c3c40d98920e63df5c70239610d8ab
          """),
        hex(
          """
          beb822d32dd50dffe84d52733d99602527506d06113800adb0420f3a909756ef
          18c4ce35880d93af067921ceeca8fe90a2a6f9dcd32d831d5b69467105193f19
          """),
      ])
    #expect(
      HMACBlake2b.expand(chainingKey: rising(64), material: Array("input".utf8), outputs: 2)
        == Array(outputs[..<2]))
  }
}
