import TalkCrypto
import Testing

@Suite struct CurveTests {
  /// RFC 7748, sections 5.2 and 6.1.
  @Test func x25519GivesTheKnownAnswers() {
    #expect(
      X25519.shared(
        secret: hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
        with: Key32(hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"))!)
        == hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"))
    let bob = hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    let alice = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    #expect(
      X25519.publicKey(of: bob).bytes
        == hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
    #expect(
      X25519.shared(secret: bob, with: Key32(alice)!)
        == hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
  }

  /// The points of order 1, 2, 4 and 8 and their non-canonical twins (cr.yp.to/ecdh.html).
  static let lowOrder = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  @Test(arguments: lowOrder) func aPointOfLowOrderIsRefused(point: String) {
    #expect(X25519.shared(secret: rising(32), with: Key32(hex(point))!) == nil)
  }

  struct Signature: Sendable {
    let seed: String
    let publicKey: String
    let message: String
    let signature: String
    /// RFC 8032, section 7.1, tests 1 to 3.
    static let all = [
      Signature(
        seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        message: "",
        signature: """
          e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
          5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
          """),
      Signature(
        seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        message: "72",
        signature: """
          92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
          085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
          """),
      Signature(
        seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        message: "af82",
        signature: """
          6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
          18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
          """),
    ]
  }

  @Test(arguments: Signature.all) func ed25519GivesKnownSignatures(known: Signature) {
    let key = Ed25519.publicKey(of: hex(known.seed))
    #expect(key.bytes == hex(known.publicKey))
    let signature = Ed25519.sign(hex(known.message), seed: hex(known.seed))
    #expect(signature == hex(known.signature))
    #expect(Ed25519.verify(signature, of: hex(known.message), by: key))
    #expect(!Ed25519.verify(signature, of: hex(known.message) + [0], by: key))
    var bad = signature
    bad[40] ^= 4
    #expect(!Ed25519.verify(bad, of: hex(known.message), by: key))
    #expect(!Ed25519.verify(Array(signature.dropLast()), of: hex(known.message), by: key))
    #expect(!Ed25519.verify(signature, of: hex(known.message), by: Key32(rising(32))!))
  }
}
