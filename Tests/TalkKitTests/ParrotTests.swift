import TalkCore
import TalkWire
import Testing

@testable import TalkCLI
@testable import TalkKit

@Suite struct ParrotTests {
  static let me = PeerID(Bytes16(high: 1, low: 1))
  static let anna = PeerID(Bytes16(high: 2, low: 1))
  static let crew = ChannelID(Bytes16(high: 7, low: 7))
  static let stage = ChannelID(Bytes16(high: 8, low: 8))

  static func at(_ seconds: Double) -> Instant { .zero + .seconds(1_000 + seconds) }

  /// A parrot, and what it is told.
  struct Room {
    var parrot = Parrot(me: ParrotTests.me)
    var turn: UInt64 = 0
    var limit = Duration.seconds(60)

    /// A burst from one time to another, of so many samples of one value.
    mutating func burst(
      _ speaker: PeerID, on channel: ChannelID = ParrotTests.crew, from: Double, to: Double,
      samples: Int = 0, value: Int16 = 0
    ) {
      turn += 1
      let token = TokenID(turn: turn, holder: speaker, seat: 0)
      parrot.began(token, on: channel, limit: limit, at: at(from))
      hear(samples, value)
      parrot.ended(token, at: at(to))
    }

    mutating func hear(_ count: Int, _ value: Int16) {
      [Int16](repeating: value, count: count).withUnsafeBufferPointer { parrot.hear($0) }
    }
  }

  @Test func `what was heard is given back once, on its own channel, after its end`() {
    var room = Room()
    let token = TokenID(turn: 1, holder: Self.anna, seat: 0)
    room.parrot.began(token, on: Self.stage, limit: .seconds(60), at: Self.at(0))
    #expect(room.parrot.isHearing)
    room.hear(3, 5)
    #expect(room.parrot.waitingChannel == nil)
    #expect(room.parrot.answer() == nil)
    room.parrot.ended(token, at: Self.at(1))
    // What was buffered is heard after the end of the burst.
    room.hear(2, 6)
    #expect(room.parrot.waitingChannel == Self.stage)
    #expect(room.parrot.answer() == .speak([5, 5, 5, 6, 6], on: Self.stage))
    #expect(room.parrot.answer() == nil)
    #expect(!room.parrot.isHearing)
  }

  @Test func `a burst that lapsed and goes on is one`() {
    var room = Room()
    let token = TokenID(turn: 1, holder: Self.anna, seat: 0)
    for second in [0.0, 1] {
      room.parrot.began(token, on: Self.crew, limit: .seconds(60), at: Self.at(second))
      room.hear(2, 5)
      room.parrot.ended(token, at: Self.at(second + 0.5))
    }
    #expect(room.parrot.answer() == .speak([5, 5, 5, 5], on: Self.crew))
  }

  @Test func `only the last burst is repeated`() {
    var room = Room()
    room.burst(Self.anna, from: 0, to: 1, samples: 4, value: 1)
    room.burst(Self.anna, from: 2, to: 3, samples: 2, value: 2)
    #expect(room.parrot.answer() == .speak([2, 2], on: Self.crew))
  }

  @Test func `no more is kept than fits into the talk limit`() throws {
    let fits = Int((1 - 0.5) * 48_000)
    for samples in [fits, fits + 1] {
      var room = Room(limit: .seconds(1))
      room.burst(Self.anna, from: 0, to: 1, samples: samples, value: 9)
      guard case .speak(let kept, _)? = room.parrot.answer() else {
        Issue.record("nothing to speak")
        continue
      }
      #expect(kept.count == fits)
    }
  }

  @Test func `silence and a burst of which nothing came are not repeated`() {
    var room = Room()
    room.burst(Self.anna, from: 0, to: 1, samples: 480)
    #expect(room.parrot.answer() == nil)
    room.burst(Self.anna, from: 2, to: 3)
    #expect(room.parrot.answer() == nil)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Our own burst, and the other's, in the order in which they began.
    let own: ClosedRange<Double>
    let other: ClosedRange<Double>
    let isParrot: Bool

    static let all = [
      Case("as long as ours, at once after it", 10...13, 13.3...16.2, true),
      Case("as long as ours, at once before it", 10...13, 6.9...9.9, true),
      Case("as long as ours, but a second and more later", 10...13, 14.1...17.1, false),
      Case("at once after ours, but longer", 10...13, 13.3...16.5, false),
      Case("at once after ours, but shorter", 10...13, 13.3...16.1, false),
    ]

    init(
      _ name: String, _ own: ClosedRange<Double>, _ other: ClosedRange<Double>, _ isParrot: Bool
    ) {
      testDescription = name
      self.own = own
      self.other = other
      self.isParrot = isParrot
    }
  }

  @Test(arguments: Case.all)
  func `two parrots do not repeat each other for ever`(_ given: Case) {
    var room = Room()
    let other = { (room: inout Room) in
      room.burst(
        Self.anna, from: given.other.lowerBound, to: given.other.upperBound, samples: 1, value: 1)
    }
    if given.other.lowerBound < given.own.lowerBound { other(&room) }
    room.burst(Self.me, from: given.own.lowerBound, to: given.own.upperBound)
    if given.other.lowerBound > given.own.lowerBound { other(&room) }
    #expect(room.parrot.answer() == (given.isParrot ? .leave : .speak([1], on: Self.crew)))
  }

  @Test func `our own burst is not heard`() {
    var room = Room()
    room.burst(Self.me, from: 0, to: 1)
    #expect(!room.parrot.isHearing)
    #expect(room.parrot.answer() == nil)
  }

  @Test func `run with --parrot needs no sound, and takes no microphone`() throws {
    let plain = try CommandLineTests.options("--parrot")
    var expected = NodeOptions(
      nickname: "parrot", capture: "null", playback: "null", headless: true)
    expected.parrot = true
    expected.tones = []
    #expect(plain == expected)
    let named = try CommandLineTests.options("--parrot --name polly --playback p.wav")
    #expect(named?.nickname == "polly")
    #expect(named?.playback == "p.wav")
    do throws(CommandError) {
      _ = try CommandLineTests.options("--parrot --capture pulse")
      Issue.record("taken")
    } catch {
      #expect(error.exitCode == 64)
      #expect(error.message == "--capture: a parrot has no microphone; leave it out")
    }
  }
}
