import TalkCrypto
import Testing

@Suite struct AEADTests {
  private let key = Secret(rising(32), memory: .ordinary)!
  private let text = Array("talk around".utf8)
  private let header = Array("header".utf8)
  private let counter: UInt64 = 0x0102_0304_0506_0708

  private func seal() -> [UInt8] {
    var buffer = text + [UInt8](repeating: 0, count: AEAD.tagSize)
    buffer.withUnsafeMutableBytes { buffer in
      header.withUnsafeBytes { header in
        key.withPointer {
          AEAD.seal(buffer, count: text.count, header: header, counter: counter, key: $0)
        }
      }
    }
    return buffer
  }

  private func open(_ sealed: [UInt8], header: [UInt8], counter: UInt64) -> [UInt8]? {
    var buffer = sealed
    let opened = buffer.withUnsafeMutableBytes { buffer in
      header.withUnsafeBytes { header in
        key.withPointer { AEAD.open(buffer, header: header, counter: counter, key: $0) }
      }
    }
    return opened ? Array(buffer.dropLast(AEAD.tagSize)) : nil
  }

  /// The answer is that of Python's cryptography (OpenSSL).
  @Test func chaChaPolyInPlaceGivesTheKnownAnswer() {
    #expect(seal() == hex("8428c18f8b58987711c54e05afa2f4eef0dcda6f8269c27e0f83ae"))
    #expect(open(seal(), header: header, counter: counter) == text)
  }

  @Test func everyFlippedBitAndEveryOtherCounterIsRefused() {
    let sealed = seal()
    for bit in 0..<sealed.count * 8 {
      var bad = sealed
      bad[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(open(bad, header: header, counter: counter) == nil)
    }
    #expect(open(sealed, header: header, counter: counter + 1) == nil)
    #expect(open(sealed, header: header + [0], counter: counter) == nil)
    #expect(open(Array(sealed.prefix(15)), header: header, counter: counter) == nil)
    #expect(open([], header: header, counter: counter) == nil)
  }

  /// draft-irtf-cfrg-xchacha-03, appendix A.3.1.
  @Test func xChaChaPolyGivesTheKnownAnswer() {
    let text = Array(
      ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
        + "future, sunscreen would be it.").utf8)
    let header = hex("50515253c0c1c2c3c4c5c6c7")
    let nonce = rising(24, from: 0x40)
    let key = rising(32, from: 0x80)
    let sealed = AEAD.sealX(text, header: header, nonce: nonce, key: key)
    #expect(
      sealed
        == hex(
          """
          bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb
          731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452
          2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9
          21f9664c97637da9768812f615c68b13b52e
          c0875924c1c7987947deafd8780acf49
          """))
    #expect(AEAD.openX(sealed, header: header, nonce: nonce, key: key) == text)
    var bad = sealed
    bad[3] ^= 1
    #expect(AEAD.openX(bad, header: header, nonce: nonce, key: key) == nil)
    #expect(AEAD.openX(sealed, header: header, nonce: rising(23), key: key) == nil)
    #expect(AEAD.openX([1, 2], header: header, nonce: nonce, key: key) == nil)
  }
}
