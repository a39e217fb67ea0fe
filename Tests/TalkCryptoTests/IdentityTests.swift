import CSodium
import TalkCore
import TalkCrypto
import Testing

/// Known answers from Python's hashlib and cryptography.
@Suite struct IdentityTests {
  private let identity = Identity(
    signingSeed: rising(32), agreementSecret: rising(32, from: 32), memory: .ordinary)!

  @Test func namesFollowFromTheKeys() {
    let known = identity.publicIdentity
    #expect(
      known.signing.bytes
        == hex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"))
    #expect(
      known.agreement.bytes
        == hex("358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254"))
    #expect(known.fingerprint.bytes == hex("eba0990923bbd3bfee921b4a5c8ee83125bd02a5"))
    #expect(known.fingerprint.description == "5oqjscjdxpj373usdnffzdxiges32avf")
    #expect(known.peerID.description == "eba0990923bbd3bfee921b4a5c8ee831")
    #expect(Fingerprint(known.fingerprint.bytes) == known.fingerprint)
    #expect(Fingerprint(rising(19)) == nil)
  }

  @Test func signaturesAreThoseOfTheSeed() {
    #expect(
      identity.sign(Array("talk".utf8))
        == hex(
          """
          a256fd60634fedf1c99051ae4e24e48a7ff7d919d6c80e49500674c3ff2a837d
          b54e9475d4f31cbd79d4e1f28fe8e870ba04861855011a9d86fb79666db9e603
          """))
  }

  @Test func channelKeysAreSubkeysOfTheSecret() {
    let keys = ChannelKeys(secret: rising(32), memory: .ordinary)!
    #expect(
      keys.psk.withBytes { $0 }
        == hex("e37c501a5bc736937c5b2b2021ecc6b978cff95053e00d41570348af40ef6d10"))
    #expect(
      keys.hello.withBytes { $0 }
        == hex("a7422f2ff582061c46d6961550155bc74fb3d6e5c2987e7128631575e9f9877a"))
    let mac = Array("datagram".utf8).withUnsafeBytes { keys.mac1(of: RawSpan(_unsafeBytes: $0)) }
    #expect(mac.hex == "fe3f8e3254eda212d5ca44552331cc4a")
    #expect(keys.tag(of: Array("nonce".utf8)) == 0x98e3_d8c3_99c5_c1b7)
    #expect(ChannelKeys(secret: rising(31), memory: .ordinary) == nil)
  }

  @Test func secretsTakeExactly32BytesInEitherMemory() throws {
    try Crypto.start()
    for memory in [Secret.Memory.guarded, .ordinary] {
      #expect(Secret(rising(32), memory: memory)?.withBytes { $0 } == rising(32))
      #expect(Secret(rising(31), memory: memory) == nil)
      #expect(Secret(rising(33), memory: memory) == nil)
    }
  }

  @Test func keysCompareByTheirBytes() {
    let keys = [[0, 0], [0, 1], [1, 0], [255, 0]].map { (ends: [UInt8]) in
      Key32([ends[0]] + rising(30) + [ends[1]])!
    }
    #expect(keys.shuffled().sorted() == keys)
    #expect(Key32(rising(31)) == nil)
  }
}

@Suite struct Base32Tests {
  /// RFC 4648, section 10, without the padding.
  static let vectors = [
    ("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foob", "mzxw6yq"),
    ("fooba", "mzxw6ytb"), ("foobar", "mzxw6ytboi"),
  ]

  @Test(arguments: vectors) func knownTextsAreWrittenAndReadInEitherCase(
    plain: String, text: String
  ) {
    let bytes = Array(plain.utf8)
    #expect(Base32.encode(bytes) == text)
    #expect(Base32.encode(bytes, upperCase: true) == text.uppercased())
    #expect(Base32.decode(text) == bytes)
    #expect(Base32.decode(text.uppercased()) == bytes)
  }

  /// Foreign letters, lengths that no bytes have, and bits that are left over.
  @Test(arguments: ["m1", "m=", "m y", "a", "abc", "abcdef", "mz", "mzxr", "é"])
  func othersAreRefused(text: String) {
    #expect(Base32.decode(text) == nil)
  }
}
