import TalkCore
import TalkCrypto
import TalkMesh
import Testing

private let secretBytes = (0..<32).map { UInt8($0 * 7 + 1) }
private let creator = Fingerprint((0..<20).map { UInt8($0 + 100) })!

private func invite(name: String = "crew") -> Invite {
  Invite(
    creator: creator, random: Bytes16(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10),
    epoch: 0x1122, secret: Secret(secretBytes, memory: .ordinary)!,
    inviter: PeerID(Bytes16(high: 3, low: 4)), name: name)
}

private func read(_ text: String) throws(InviteError) -> Invite {
  try Invite(text: text, memory: .ordinary)
}

@Suite("Invites")
struct InviteTests {
  struct Form: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (String) -> String
    static let all = [
      Form(testDescription: "as written") { $0 },
      Form(testDescription: "in upper case") { $0.uppercased() },
      Form(testDescription: "in mixed case") { text in
        String(text.enumerated().map { $0 % 2 == 0 ? Character($1.uppercased()) : $1 })
      },
      Form(testDescription: "with blanks and line breaks around") { " \t\r\n\n" + $0 + " \r\n" },
      Form(testDescription: "broken into lines by a mail program") { text in
        stride(from: 0, to: text.count, by: 40).map { String(text.dropFirst($0).prefix(40)) }
          .joined(separator: "\r\n  ")
      },
    ]
  }

  @Test("an invite is read as it was made", arguments: Form.all)
  func roundTrip(_ form: Form) throws {
    let made = invite()
    let found = try read(form.change(made.text()))
    #expect(found.creator == made.creator && found.random == made.random)
    #expect(found.epoch == 0x1122 && found.inviter == made.inviter && found.name == "crew")
    #expect(found.channel == made.channel)
    #expect(found.secret.withBytes { $0 } == secretBytes)
  }

  @Test("the line is `talk1` and lower-case letters, upper-case ones for a QR")
  func letters() {
    let text = invite().text()
    #expect(text.hasPrefix("talk1") && text == text.lowercased() && text.count == 169)
    #expect(invite().text(upperCase: true) == text.uppercased())
  }

  @Test("the layout is what the table says")
  func layout() throws {
    let bytes = try #require(Base32.decode(invite().text().dropFirst(5)))
    #expect(bytes.count == 102 && bytes[0] == 1)
    #expect(Array(bytes[1..<21]) == creator.bytes)
    #expect(Array(bytes[21..<37]) == (1...16).map { UInt8($0) })
    #expect(Array(bytes[37..<45]) == [0x22, 0x11, 0, 0, 0, 0, 0, 0])
    #expect(Array(bytes[45..<77]) == secretBytes)
    #expect(Array(bytes[93..<98]) == [4] + Array("crew".utf8))
  }

  @Test(
    "names of 0, 31, 32 and 33 bytes", arguments: ["", "ä\(String(repeating: "x", count: 29))"])
  func names(start: String) throws {
    for extra in ["", "y", "yz"] {
      let found = try read(invite(name: start + extra).text())
      #expect(found.name == String((start + extra).prefix(31)))
    }
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let error: InviteError
    let change: @Sendable (String) -> String
    static let all = [
      Wrong(testDescription: "nothing", error: .notAnInvite) { _ in "" },
      Wrong(testDescription: "something else", error: .notAnInvite) { _ in "https://example.org" },
      Wrong(testDescription: "a word like it", error: .notAnInvite) { _ in "talkaround" },
      Wrong(testDescription: "a whole book", error: .notAnInvite) {
        $0 + String(repeating: "a", count: 100_000)
      },
      Wrong(testDescription: "the prefix alone", error: .cutShort) { _ in "talk1" },
      Wrong(testDescription: "half of it", error: .cutShort) { String($0.prefix(80)) },
      Wrong(testDescription: "all but the last letter", error: .cutShort) { String($0.dropLast()) },
      Wrong(testDescription: "all but the name", error: .cutShort) { String($0.dropLast(10)) },
      Wrong(testDescription: "a letter too many", error: .mistyped) { $0 + "a" },
      Wrong(testDescription: "a wrong letter", error: .mistyped) { text in
        String(text.enumerated().map { $0 == 90 ? ($1 == "a" ? "b" : "a") : $1 })
      },
      Wrong(testDescription: "a letter that there is not", error: .mistyped) {
        String($0.prefix(50)) + "0" + String($0.dropFirst(51))
      },
      Wrong(testDescription: "the prefix of a later version", error: .newerVersion) {
        "talk2" + $0.dropFirst(5)
      },
      Wrong(testDescription: "a later version inside", error: .newerVersion) { text in
        var bytes = Array(Base32.decode(text.dropFirst(5))!.dropLast(4))
        bytes[0] = 2
        var hash = Blake2b(size: 16)
        hash.update("talkaround invite v1")
        hash.update(bytes)
        return "talk1" + Base32.encode(bytes + Array(hash.finalize().prefix(4)))
      },
      Wrong(testDescription: "a mistyped version", error: .mistyped) {
        "talk1b" + $0.dropFirst(6)
      },
    ]
  }

  @Test("the error names what is wrong", arguments: Wrong.all)
  func wrong(_ wrong: Wrong) {
    #expect(throws: wrong.error) { try read(wrong.change(invite().text())) }
  }

  @Test("any single wrong letter is found")
  func everyLetter() {
    let text = Array(invite().text().utf8)
    for index in 5..<text.count {
      var other = text
      other[index] = other[index] == UInt8(ascii: "q") ? UInt8(ascii: "r") : UInt8(ascii: "q")
      #expect(throws: InviteError.self) { try read(String(decoding: other, as: UTF8.self)) }
    }
  }

  @Test("100,000 mutated lines trap nowhere, and none is taken for the invite")
  func mutated() {
    var generator = SeededGenerator(seed: 17)
    let text = Array(invite().text().utf8)
    for _ in 0..<100_000 {
      var other = text
      for _ in 0...Int.random(in: 0..<4, using: &generator) {
        let index = Int.random(in: 0..<other.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: other.remove(at: index)
        case 1: other.insert(UInt8(truncatingIfNeeded: generator.next()), at: index)
        case 2: other.removeLast(Int.random(in: 0..<other.count, using: &generator))
        default: other[index] = UInt8(truncatingIfNeeded: generator.next())
        }
        if other.isEmpty { break }
      }
      let line = String(decoding: other, as: UTF8.self)
      guard let found = try? read(line) else { continue }
      // Only blanks or other cases of letters may have come in.
      let letters = String(line.lowercased().unicodeScalars.filter { $0.value > 32 })
      #expect(letters == invite().text() && found.channel == invite().channel)
    }
  }

  @Test("the channel's name follows from its creator, and is a version-8 UUID")
  func channel() {
    let made = invite().channel
    #expect(Array(made.description)[14] == "8" && "89ab".contains(Array(made.description)[19]))
    var other = creator.bytes
    other[19] ^= 1
    #expect(ChannelID(creator: Fingerprint(other)!, random: invite().random) != made)
    #expect(ChannelID(creator: creator, random: .zero) != made)
    // BLAKE2b-128("talkaround channel v1" ‖ 100…119 ‖ 1…16) by Python's hashlib, UUID bits set.
    #expect(made.description == "03d39480-e307-85dd-8991-359400c43265")
  }
}
