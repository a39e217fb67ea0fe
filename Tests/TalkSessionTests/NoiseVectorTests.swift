import Foundation
import TalkCrypto
import TalkSession
import Testing

/// One public vector; who made it is in its `source`.
struct NoiseVector: Decodable, Sendable, CustomTestStringConvertible {
  struct Message: Decodable, Sendable {
    let payload: String
    let ciphertext: String
  }

  let id: Int
  let protocolName: String
  let patternName: String
  let source: String
  let obsoletePskNaming: Bool
  let deferredPattern: Bool
  let duplicateOf: Int?
  let initPrologue: String
  let initPsks: [String]?
  let initStatic: String?
  let initEphemeral: String
  let initRemoteStatic: String?
  let respPrologue: String
  let respPsks: [String]?
  let respStatic: String?
  let respEphemeral: String?
  let respRemoteStatic: String?
  let messages: [Message]
  let handshakeHash: String?

  var testDescription: String { "\(protocolName) #\(id)" }

  private struct File: Decodable { let vectors: [NoiseVector] }

  /// Those with names of today, once each. Deferred patterns and fallback are not ours: they begin
  /// where another handshake failed.
  static let usable: [NoiseVector] = {
    guard
      let url = Bundle.module.url(
        forResource: "noise_vectors", withExtension: "json", subdirectory: "Vectors"),
      let data = try? Data(contentsOf: url)
    else { return [] }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let file = try? decoder.decode(File.self, from: data) else { return [] }
    return file.vectors.filter {
      !$0.obsoletePskNaming && !$0.deferredPattern && $0.duplicateOf == nil
        && !$0.patternName.hasSuffix("fallback")
    }
  }()

  func side(_ role: NoiseRole) throws -> NoiseHandshake {
    let isInitiator = role == .initiator
    let pattern = try #require(NoisePatterns.named(patternName))
    let secret = isInitiator ? initStatic : respStatic
    let identity = secret.flatMap {
      Identity(
        signingSeed: [UInt8](repeating: 1, count: 32), agreementSecret: hex($0), memory: .ordinary)
    }
    let known = isInitiator ? initRemoteStatic : respRemoteStatic
    return try #require(
      NoiseHandshake(
        pattern: pattern, role: role, prologue: hex(isInitiator ? initPrologue : respPrologue),
        preSharedKeys: ((isInitiator ? initPsks : respPsks) ?? []).map(hex), identity: identity,
        ephemeral: hex((isInitiator ? initEphemeral : respEphemeral) ?? unusedEphemeral),
        remoteStatic: known.flatMap { Key32(hex($0)) }))
  }

  /// One-way patterns give the responder no ephemeral key, and it uses none.
  private var unusedEphemeral: String { String(repeating: "11", count: 32) }
}

@Suite struct NoiseVectorTests {
  @Test func allNinetyFiveVectorsAreThere() {
    #expect(NoiseVector.usable.count == 95)
    #expect(NoiseVector.usable.contains { $0.patternName == NoisePattern.xxPSK3.name })
  }

  @Test func theShippedPatternIsThatOfTheSpecification() {
    let table = NoisePatterns.named("XXpsk3")
    #expect(NoisePattern.xxPSK3.messages == table?.messages)
    #expect(NoisePattern.xxPSK3.protocolName == "Noise_XXpsk3_25519_ChaChaPoly_BLAKE2b")
  }

  @Test(arguments: NoiseVector.usable) func aPublicVectorIsReproduced(vector: NoiseVector) throws {
    let initiator = try vector.side(.initiator)
    let responder = try vector.side(.responder)
    var rest = vector.messages[...]
    var turn = NoiseRole.initiator
    while !initiator.isComplete, let message = rest.popFirst() {
      let (writer, reader) =
        turn == .initiator ? (initiator, responder) : (responder, initiator)
      let written = try writer.write(hex(message.payload))
      #expect(written == hex(message.ciphertext))
      #expect(try reader.read(written) == hex(message.payload))
      turn = turn == .initiator ? .responder : .initiator
    }
    #expect(initiator.isComplete && responder.isComplete)
    #expect(initiator.handshakeHash == responder.handshakeHash)
    if let hash = vector.handshakeHash { #expect(initiator.handshakeHash == hex(hash)) }
    let isOneWay = vector.patternName.prefix { $0.isUppercase }.count == 1
    try checkTransport(rest, initiator, responder, next: isOneWay ? .initiator : turn, isOneWay)
  }

  private func checkTransport(
    _ messages: ArraySlice<NoiseVector.Message>, _ initiator: NoiseHandshake,
    _ responder: NoiseHandshake, next: NoiseRole, _ isOneWay: Bool
  ) throws {
    let keys = try #require(initiator.split())
    let mirrored = try #require(responder.split())
    #expect(keys.sending.withBytes { $0 } == mirrored.receiving.withBytes { $0 })
    #expect(keys.receiving.withBytes { $0 } == mirrored.sending.withBytes { $0 })
    var counters: [NoiseRole: UInt64] = [.initiator: 0, .responder: 0]
    var turn = next
    for message in messages {
      let key = turn == .initiator ? keys.sending : mirrored.sending
      var text = hex(message.payload)
      let count = text.count
      text += [UInt8](repeating: 0, count: AEAD.tagSize)
      text.withUnsafeMutableBytes { buffer in
        key.withPointer {
          AEAD.seal(
            buffer, count: count, header: UnsafeRawBufferPointer(start: nil, count: 0),
            counter: counters[turn]!, key: $0)
        }
      }
      #expect(text == hex(message.ciphertext))
      counters[turn]! += 1
      if !isOneWay { turn = turn == .initiator ? .responder : .initiator }
    }
  }

  @Test func aForgedMessageLeavesTheHandshakeAsItWas() throws {
    let vector = try #require(NoiseVector.usable.first { $0.patternName == "XXpsk3" })
    let initiator = try vector.side(.initiator)
    let responder = try vector.side(.responder)
    _ = try responder.read(try initiator.write([]))
    let answer = try responder.write([1, 2, 3])
    for index in answer.indices {
      var bad = answer
      bad[index] ^= 0x40
      #expect(throws: NoiseError.self) { try initiator.read(bad) }
    }
    for length in 0..<answer.count {
      #expect(throws: NoiseError.self) { try initiator.read(Array(answer.prefix(length))) }
    }
    #expect(try initiator.read(answer) == [1, 2, 3])
  }

  @Test func keysOfLowOrderAndMessagesOutOfTurnAreRefused() throws {
    let vector = try #require(NoiseVector.usable.first { $0.patternName == "XXpsk3" })
    let initiator = try vector.side(.initiator)
    #expect(throws: NoiseError.outOfTurn) { try initiator.read([]) }
    #expect(initiator.split() == nil)
    _ = try initiator.write([])
    #expect(throws: NoiseError.outOfTurn) { try initiator.write([]) }
    let lowOrder = [UInt8](repeating: 0, count: 144)
    #expect(throws: NoiseError.weakKey) { try initiator.read(lowOrder) }
  }
}

/// Bytes of hex digits.
func hex(_ text: String) -> [UInt8] {
  let digits = Array(text)
  return stride(from: 0, to: digits.count, by: 2).map {
    UInt8(String(digits[$0...$0 + 1]), radix: 16)!
  }
}
