import TalkCore
import TalkWire
import Testing

@testable import TalkGateway

@Suite struct LegFloorTests {
  private let request = PhoneRequest(number: 7, floorClass: .emergency)

  private func attached(request: PhoneRequest? = nil) -> (LegBench, TestPhone) {
    let bench = LegBench()
    let phone = bench.addPhone()
    phone.attach(request: request)
    bench.run(.milliseconds(100))
    return (bench, phone)
  }

  private func voices(_ bench: LegBench) -> Int {
    bench.events.filter { if case .voice = $0 { true } else { false } }.count
  }

  @Test func theRequestInsideAttachIsHeardInTheSameRoundTrip() {
    let (bench, phone) = attached(request: request)
    #expect(bench.has { $0 == .floorRequest(Sample.device(1), request) })
    bench.tell(1, 7, .queued(2))
    bench.run(.milliseconds(50))
    #expect(phone.messages.contains { $0.message == .floor(number: 7, .queued(2)) })
  }

  @Test func voiceCountsFromWhoWasGrantedThatTurnAndFromItsSeat() {
    let (bench, phone) = attached(request: request)
    phone.speak(turn: 40, frame: 0)
    bench.run(.milliseconds(50))
    #expect(voices(bench) == 0)
    bench.tell(1, 7, .granted(turn: 40))
    bench.run(.milliseconds(50))
    for frame in 0..<5 { phone.speak(turn: 40, frame: frame) }
    phone.speak(turn: 41, frame: 0)
    phone.seat = 2
    phone.speak(turn: 40, frame: 5)
    bench.run(.milliseconds(50))
    #expect(voices(bench) == 5 && bench.legs.counts.unusable == 3)
  }

  @Test func aRequestThatIsRepeatedIsOne() {
    let (bench, phone) = attached()
    for _ in 0..<5 {
      phone.say(.request(request))
      bench.run(.milliseconds(500))
    }
    #expect(bench.events.filter { $0 == .floorRequest(Sample.device(1), request) }.count == 1)
  }

  @Test func aReleaseIsAnsweredHoweverOftenItComes() {
    let (bench, phone) = attached(request: request)
    bench.tell(1, 7, .granted(turn: 40))
    for _ in 0..<3 {
      phone.say(.release(number: 7, lastFrame: 12))
      bench.run(.milliseconds(50))
    }
    let release = LegEvent.floorRelease(Sample.device(1), number: 7, lastFrame: 12)
    #expect(bench.events.filter { $0 == release }.count == 1)
    #expect(phone.messages.filter { $0.message == .floor(number: 7, .ended) }.count == 3)
  }

  @Test func aPhoneThatIsSilentForTwoSecondsLosesTheFloor() {
    let (bench, phone) = attached(request: request)
    bench.tell(1, 7, .granted(turn: 40))
    for frame in 0..<50 {
      phone.speak(turn: 40, frame: frame)
      bench.run(.milliseconds(20))
    }
    // Keepalives are no voice.
    bench.run(.milliseconds(1_900))
    phone.say(.keepalive)
    #expect(!bench.has { $0 == .floorLost(Sample.device(1), number: 7) })
    bench.run(.milliseconds(200))
    #expect(bench.has { $0 == .floorLost(Sample.device(1), number: 7) })
    #expect(phone.messages.contains { $0.message == .floor(number: 7, .ended) })
    let before = voices(bench)
    phone.speak(turn: 40, frame: 50)
    bench.run(.milliseconds(50))
    #expect(voices(bench) == before)
  }

  @Test func aPhoneThatWaitsAndSaysNothingIsTakenOffTheQueue() {
    let (bench, _) = attached(request: request)
    bench.tell(1, 7, .queued(1))
    bench.run(.milliseconds(2_200))
    #expect(bench.has { $0 == .floorLost(Sample.device(1), number: 7) })
  }

  @Test func aPreemptedPhoneIsToldBeforeItHearsTheOther() throws {
    let (bench, phone) = attached(request: request)
    bench.tell(1, 7, .granted(turn: 40))
    bench.run(.milliseconds(50))
    bench.begin(41)
    bench.frames(41, 0..<5)
    bench.run(.milliseconds(50))
    #expect(phone.order.isEmpty, "while it holds the floor it hears nobody")
    bench.tell(1, 7, .preempted)
    bench.run(.milliseconds(100))
    #expect(bench.has { $0 == .floorTold(Sample.device(1), number: 7) })
    let told = phone.messages.firstIndex { $0.message == .floor(number: 7, .preempted) }
    let heard = phone.messages.firstIndex {
      if case .burst = $0.message { true } else { false }
    }
    #expect(try #require(told) < #require(heard))
    #expect(phone.heard[bench.id(41)]?.frames.count == 5)
  }

  @Test func aPreemptedPhoneThatDoesNotAnswerHearsTheOtherAfterHalfASecond() {
    let (bench, phone) = attached(request: request)
    phone.acknowledges = false
    bench.tell(1, 7, .granted(turn: 40))
    bench.begin(41)
    bench.frames(41, 0..<5)
    bench.tell(1, 7, .preempted)
    bench.run(.milliseconds(480))
    #expect(phone.order.isEmpty)
    bench.run(.milliseconds(100))
    #expect(phone.order == [bench.id(41)])
    let word = phone.messages.filter { $0.message == .floor(number: 7, .preempted) }
    #expect(word.count >= 3, "said again until it is acknowledged")
  }

  @Test func aLegThatEndsReleasesItsFloor() {
    let (bench, phone) = attached(request: request)
    bench.tell(1, 7, .granted(turn: 40))
    phone.say(.sleep)
    bench.run(.milliseconds(50))
    #expect(bench.has { $0 == .floorLost(Sample.device(1), number: 7) })
    #expect(bench.events.last == .detached(Sample.device(1), .slept))
  }

  @Test func aNewPressReplacesTheOldOneAndAnOlderOneIsIgnored() {
    let (bench, phone) = attached(request: request)
    let next = PhoneRequest(number: 8, floorClass: .normal)
    phone.say(.request(next))
    bench.run(.milliseconds(50))
    phone.say(.request(request))
    bench.run(.milliseconds(50))
    #expect(
      bench.events.suffix(2) == [
        .floorLost(Sample.device(1), number: 7), .floorRequest(Sample.device(1), next),
      ])
  }

  @Test func aRemovedPhoneIsToldToLeave() {
    let (bench, phone) = attached()
    bench.remove(1)
    bench.run(.milliseconds(50))
    #expect(phone.messages.contains { $0.message == .leave })
    #expect(bench.legs.legs.isEmpty)
  }

  @Test func tokensAndStatesPassThrough() {
    let (bench, phone) = attached()
    let token = [UInt8](repeating: 5, count: PhoneToken.limit)
    phone.say(.register(.alert, .sandbox, token: token))
    phone.say(.state(foreground: true, allowed: .passive))
    phone.say(.leave)
    bench.run(.milliseconds(50))
    let device = Sample.device(1)
    #expect(bench.has { $0 == .register(device, .alert, .sandbox, token: token) })
    #expect(bench.has { $0 == .state(device, foreground: true, allowed: .passive) })
    #expect(bench.events.last == .left(device))
  }
}
