import TalkCore
import TalkWire
import Testing

@testable import TalkGateway

@Suite struct LegStreamTests {
  private func attached(loss: Double = 0) -> (LegBench, TestPhone) {
    let bench = LegBench()
    let phone = bench.addPhone()
    phone.attach()
    bench.run(.milliseconds(100))
    bench.loss = loss
    return (bench, phone)
  }

  private func voice(in bench: LegBench) -> [(at: Instant, bytes: [UInt8], to: Endpoint)] {
    // Control is padded to few sizes; voice is what is as long as no control.
    bench.sent.filter { sent in
      let text = sent.bytes.count - DataDatagram.overhead
      return sent.bytes[0] == 0x10 && !Plaintext.classes.contains(text)
    }
  }

  @Test func catchingUpIsPacedAndReachesTheLiveVoiceInTime() throws {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    let late = 400
    bench.frames(1, 0..<late)
    let start = bench.now
    phone.attach()
    // The burst goes on while the phone catches up.
    bench.frames(1, late..<late + 150, live: true)
    let times = voice(in: bench).map { $0.at - start }
    #expect(!times.isEmpty)
    // 8 s of voice are behind; at 8 times real time 16 frames leave every 40 ms.
    let behind = try #require(
      voice(in: bench).first { $0.bytes.count < 300 }.map { $0.at - start })
    let lateness = Duration.milliseconds(20 * late)
    #expect(behind <= lateness * 1.25 && behind >= lateness / 9)
    for (index, time) in times.enumerated() where index + 1 < times.count && time < behind {
      let pause = times[index + 1] - time
      #expect(pause >= .milliseconds(38) || times[index + 1] >= behind)
    }
    #expect(phone.heard[bench.id(1)]?.frames.count == late + 150)
  }

  @Test func aLiveFrameLeavesAtOnceWithCopiesOfOlderOnes() throws {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<20, live: true)
    let last = try #require(voice(in: bench).last)
    #expect(last.bytes.count == 32 + 4 + 16 + 3 * 60)
    #expect(phone.heard[bench.id(1)]?.frames.count == 20)
    #expect(voice(in: bench).count == 20)
  }

  @Test(arguments: [0.05, 0.3]) func lossIsMadeGood(_ loss: Double) throws {
    let (bench, phone) = attached(loss: loss)
    bench.begin(1)
    bench.frames(1, 0..<300, live: true)
    bench.end(1, lastFrame: 299)
    bench.run(.seconds(3))
    let burst = try #require(phone.heard[bench.id(1)])
    #expect(burst.isOver && burst.lastFrame == 299)
    #expect(burst.frames.count == 300)
    for (number, frame) in burst.frames { #expect(frame == BurstSample.frame(Int(number))) }
  }

  @Test func lossWhileCatchingUpIsMadeGoodToo() throws {
    let bench = LegBench()
    let phone = bench.addPhone()
    bench.begin(1)
    bench.frames(1, 0..<500)
    bench.end(1, lastFrame: 499)
    phone.attach()
    bench.run(.milliseconds(30))
    bench.loss = 0.3
    bench.run(.seconds(6))
    #expect(phone.heard[bench.id(1)]?.frames.count == 500)
    #expect(phone.heard[bench.id(1)]?.isOver == true)
  }

  @Test func theEndComesAlsoWhenTheSpeakerDies() throws {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<10, live: true)
    bench.run(.seconds(2))
    let silent = bench.bursts.wake(now: bench.now)
    #expect(silent == [bench.id(1)])
    bench.frames(1, 0..<0)
    bench.run(.milliseconds(200))
    #expect(phone.heard[bench.id(1)]?.lastFrame == 9)
  }

  @Test func theEndComesAlsoWhenTheBurstIsGivenUpMidway() {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<400)
    bench.run(.milliseconds(200))
    _ = bench.bursts.take(bench.id(1))
    bench.run(.seconds(1))
    #expect(phone.heard[bench.id(1)]?.isOver == true)
  }

  @Test func aBurstWithoutAFrameHasAnEnd() {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<0)
    bench.end(1, lastFrame: nil)
    bench.run(.seconds(1))
    #expect(phone.heard[bench.id(1)]?.lastFrame == AttachBody.noFrame)
  }

  @Test func aFrameThatNeverCameHoldsUpNothing() throws {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<10, live: true)
    bench.frames(1, 12..<40, live: true)
    bench.end(1, lastFrame: 39)
    bench.run(.milliseconds(300))
    let burst = try #require(phone.heard[bench.id(1)])
    #expect(burst.frames.count == 38 && burst.isOver)
    // What is not there can't be sent again, however often the phone asks.
    #expect(bench.legs.legs.values.allSatisfy { $0.stream == nil || $0.stream!.isDone })
  }

  @Test func theEndComesAlsoWhenTheMeshLostTheLastFrame() throws {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<10, live: true)
    bench.end(1, lastFrame: 11)
    bench.run(.milliseconds(150))
    #expect(phone.heard[bench.id(1)]?.isOver == false, "they may still come")
    bench.run(.milliseconds(100))
    #expect(phone.heard[bench.id(1)]?.lastFrame == 9)
    // In time they are sent, and the end names them.
    bench.begin(2)
    bench.frames(2, 0..<10, live: true)
    bench.end(2, lastFrame: 11)
    bench.frames(2, 10..<12, live: true)
    bench.run(.milliseconds(300))
    #expect(phone.heard[bench.id(2)]?.lastFrame == 11)
    #expect(phone.heard[bench.id(2)]?.frames.count == 12)
  }

  @Test func theNextBurstDoesNotWaitForAnAcknowledgement() {
    let (bench, phone) = attached()
    phone.acknowledges = false
    bench.begin(1)
    bench.frames(1, 0..<10, live: true)
    bench.end(1, lastFrame: 9)
    bench.run(.milliseconds(400))
    bench.begin(2)
    bench.frames(2, 0..<10, live: true)
    #expect(phone.heard[bench.id(2)]?.frames.count == 10)
  }

  @Test func aPhoneDoesNotHearItself() {
    let (bench, phone) = attached()
    let other = bench.addPhone()
    other.attach()
    bench.run(.milliseconds(100))
    let gateway = bench.identity.publicIdentity.peerID
    bench.begin(7, seat: 1, holder: gateway)
    let id = bench.id(7, seat: 1, holder: gateway)
    for frame in 0..<5 {
      BurstSample.frame(frame).withUnsafeBytes {
        _ = bench.bursts.insert(id, UInt32(frame), .twentyMilliseconds, $0, now: bench.now)
      }
    }
    bench.frames(1, 0..<0)
    bench.run(.milliseconds(500))
    #expect(phone.order.isEmpty && other.order == [id])
  }

  @Test func anAttachedPhoneIsKeptAliveAndASleepingOneIsNot() {
    let (bench, phone) = attached()
    let before = bench.sent.count
    for _ in 0..<6 {
      bench.run(.seconds(10))
      phone.say(.keepalive)
    }
    let keepalives = bench.sent.count - before
    #expect((3...4).contains(keepalives), "one in 15 s, not \(keepalives) a minute")
    phone.say(.sleep)
    bench.run(.seconds(1))
    #expect(bench.has { $0 == .detached(Sample.device(1), .slept) })
    let asleep = bench.sent.count
    bench.run(.seconds(300))
    #expect(bench.sent.count == asleep && bench.legs.deadline == nil)
  }

  @Test func aPhoneThatIsSilentSleeps() {
    let (bench, _) = attached()
    bench.run(.seconds(39))
    #expect(bench.legs.isAttached(Sample.device(1)))
    bench.run(.seconds(2))
    #expect(bench.has { $0 == .detached(Sample.device(1), .silent) })
  }

  @Test func aNewAddressIsUsedOnceItHasAnswered() throws {
    let (bench, phone) = attached()
    bench.begin(1)
    bench.frames(1, 0..<50, live: true)
    let new = Endpoint(ipv4: 0x0b0b_0b0b, port: 5)
    phone.endpoint = new
    bench.frames(1, 50..<100, live: true)
    bench.end(1, lastFrame: 99)
    bench.run(.seconds(1))
    #expect(bench.has { $0 == .moved(Sample.device(1), new) })
    #expect(phone.heard[bench.id(1)]?.frames.count == 100)
  }

  @Test func aCopiedDatagramFromElsewhereMovesNothing() {
    let (bench, phone) = attached()
    phone.answersChallenges = false
    bench.begin(1)
    bench.frames(1, 0..<10, live: true)
    phone.outbox = []
    phone.say(.keepalive)
    let thief = Endpoint(ipv4: 0x0c0c_0c0c, port: 6)
    bench.hand(phone.outbox.removeLast(), from: thief)
    bench.frames(1, 10..<100, live: true)
    #expect(!bench.has { if case .moved = $0 { true } else { false } })
    // Four challenges of 96 bytes are all that the other address ever got.
    #expect((96...384).contains(bench.sentTo[thief] ?? 0))
    #expect(phone.heard[bench.id(1)]?.frames.count == 100)
  }

  @Test func tenThousandFramesAreAllSentInBoundedSteps() {
    let (bench, phone) = attached()
    for burst in 1...4 {
      bench.begin(burst)
      bench.frames(burst, 0..<2_500)
      bench.end(burst, lastFrame: 2_499)
    }
    bench.run(.seconds(29))
    #expect(phone.heard.values.reduce(0) { $0 + $1.frames.count } == 10_000)
  }

  @Test func twoHundredPhonesHearAFrameInTheStepInWhichItCame() {
    let bench = LegBench()
    for _ in 0..<200 { bench.addPhone().attach() }
    bench.run(.milliseconds(100), reporting: false)
    #expect(bench.phones.allSatisfy { $0.isAttached })
    bench.begin(1)
    let before = bench.sent.count
    bench.frames(1, 0..<1)
    let now = bench.now
    let sent = bench.sent[before...].filter { $0.bytes.count == 32 + 4 + 16 + 60 }
    #expect(sent.count == 200 && sent.allSatisfy { $0.at == now })
    bench.run(.milliseconds(100), reporting: false)
    #expect(bench.phones.allSatisfy { $0.heard[bench.id(1)]?.frames.count == 1 })
  }
}
