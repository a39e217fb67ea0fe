import TalkCore
import TalkGateway
import Testing

@Suite struct ProviderPushTests {
  @Test(arguments: [
    (Push.Kind.speak, "pushtotalk", "org.talk.voip-ptt", 4_096),
    (.leave, "pushtotalk", "org.talk.voip-ptt", 4_096),
    (.serviceUpdate, "pushtotalk", "org.talk.voip-ptt", 4_096),
    (.call, "voip", "org.talk.voip", 5_120),
    (.missedVoice, "alert", "org.talk", 4_096),
  ])
  func `Each kind has the type, the topic and the size that Apple wants`(
    kind: Push.Kind, type: String, topic: String, limit: Int
  ) {
    #expect(kind.pushType == type)
    #expect(kind.topic(bundle: "org.talk") == topic)
    #expect(kind.payloadLimit == limit)
  }

  @Test func `A token registered after Apple's 410 is kept, one registered before it is dropped`() {
    let advice = PushAdvice.dropToken(at: 1_700_000_000_000)
    #expect(advice.dropsToken(registeredAt: 1_699_999_999_999))
    #expect(!advice.dropsToken(registeredAt: 1_700_000_000_000))
    #expect(!advice.dropsToken(registeredAt: 1_700_000_000_001))
    #expect(!PushAdvice.quarantine.dropsToken(registeredAt: 0))
  }

  @Test func `A push goes to the other environment once`() {
    let push = Push(
      kind: .speak, token: [1, 2], environment: .sandbox, id: Bytes16(high: 1, low: 2),
      payload: Array("{}".utf8), began: .zero, notAfter: .distantFuture)
    #expect(push.inOtherEnvironment.environment == .production)
    #expect(push.inOtherEnvironment.triedOther)
    #expect(push.inOtherEnvironment.id == push.id)
  }
}
