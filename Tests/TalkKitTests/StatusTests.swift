import TalkCore
import Testing

@testable import TalkKit

@Suite struct StatusTests {
  /// As surface.md has it, with every key, and `null` where there is nothing.
  static let expected = """
    {"channels":[{"current":true,"floor":{"class":"normal","holder":null,"limit_ms":60000,\
    "place":null,"queue":[],"since_ms":null,"state":"idle","turn":12},\
    "id":"00112233-4455-8677-8899-aabbccddeeff","members":[{"classes":[],"deaf":false,\
    "endpoint":null,"hears_me":true,"i_hear":true,"id":"b0000000000000000000000000000002",\
    "loss_from":0,"loss_to":0,"name":"ben","role":null,"rtt_ms":0.4,"silent_ms":null,\
    "state":"present"}],"name":"crew","reason":null,"status":"ready"}],\
    "node":{"audio":{"capture":"pulse:mic","playback":"pulse:speaker"},\
    "discovery":{"avahi":"running","hello":"on",\
    "hellos":{"heard":0,"heard_ms":null,"own":0,"sent":0}},"id":"a0000000000000000000000000000001",\
    "name":"anna","port":41717,"version":"\(TalkaroundVersion.text)"},"v":1}
    """

  @Test func `the status has exactly the keys of version 1`() {
    let json = JSONLine.encode(Sample.report())
    #expect(String(decoding: json, as: UTF8.self) == Self.expected)
    #expect(JSONLine.decode(StatusReport.self, json) == Sample.report())
  }

  @Test func `names that could move a cursor are escaped, and read back the same`() {
    let name = "a\u{1b}[2J\u{9b}31m\u{202e}\u{200b}é👩‍👧\u{e000}\u{10fffd}\u{7f}b"
    let report = Sample.report(member: name)
    let json = JSONLine.encode(report)
    let scalars = String(decoding: json, as: UTF8.self).unicodeScalars
    #expect(scalars.contains("é") && scalars.contains("👩"))
    let hidden: [Unicode.Scalar] = [
      "\u{1b}", "\u{9b}", "\u{202e}", "\u{200b}", "\u{7f}", "\u{e000}",
    ]
    for scalar in hidden { #expect(!scalars.contains(scalar)) }
    #expect(JSONLine.decode(StatusReport.self, json) == report)
  }

  @Test func `numbers that JSON has no word for do not stop a report`() {
    var report = Sample.report()
    report.channels[0].members[0].lossTo = .nan
    report.channels[0].members[0].roundTripMilliseconds = .infinity
    #expect(!JSONLine.encode(report).isEmpty)
  }

  static let contents: [WatchEvent.Content] = [
    .snapshot(Sample.report()),
    .member(
      MemberEvent(channel: Sample.crew, member: Sample.channel().members[0], reason: .silent)),
    .floor(Sample.floorEvent(.taken, holder: Sample.ben, name: "ben", reason: .busy)),
    .floor(
      Sample.floorEvent(
        .ours, holder: Sample.anna, press: PressTiming(press: 99.25, grant: 1.5, permit: 12.125))),
    .burst(
      BurstEvent(channel: Sample.crew, turn: 3, speaker: Sample.ben, name: "ben", phase: .began)),
    .burst(
      BurstEvent(
        channel: Sample.crew, turn: 3, speaker: Sample.ben, name: "ben", phase: .ended,
        frames: 50, lost: 1, reason: .released)),
    .burst(
      BurstEvent(
        channel: Sample.crew, turn: 3, speaker: Sample.ben, name: "ben", phase: .level,
        level: -20)),
    .heard(Sample.heard(missed: ["cleo"])),
    Sample.tone("busy", reason: .busy, name: "ben"),
    .device(DeviceEvent(direction: .capture, state: .lost, device: nil, reason: .noSoundServer)),
    .discovery(DiscoveryEvent(source: "avahi", state: "down", reason: .avahiDown)),
    .status(
      ServiceEvent(
        channel: Sample.crew, name: "crew", current: true, status: .connecting, reason: .alone)),
    .error(ErrorEvent(reason: .stateFile, message: "x: the disk is full; free some space")),
  ]

  @Test(arguments: contents)
  func `every event has its header, its null keys, and reads back the same`(
    _ content: WatchEvent.Content
  ) throws {
    let event = WatchEvent(
      seq: 7, at: Instant(nanoseconds: 1_234_567_890), wallSeconds: 1_800_000_000.25,
      content: content)
    let json = JSONLine.encode(event)
    #expect(JSONLine.decode(WatchEvent.self, json) == event)
    guard case .object(let object)? = JSONLine.decode(JSONValue.self, json) else {
      Issue.record("no object")
      return
    }
    #expect(object["event"] == .string(content.name))
    #expect(object["seq"] == .integer(7))
    #expect(object["at_ms"] == .number(1_234.56789))
    #expect(object["time"] == .string("2027-01-15T08:00:00.250Z"))
  }

  @Test func `a floor event of our own press carries its times flat, and null for others`() {
    func keys(_ press: PressTiming) -> [JSONValue?] {
      let event = WatchEvent(
        seq: 1, at: .zero, wallSeconds: 0, content: .floor(Sample.floorEvent(.ours, press: press)))
      guard case .object(let object)? = JSONLine.decode(JSONValue.self, JSONLine.encode(event))
      else { return [] }
      return ["press_ms", "grant_ms", "permit_ms", "place"].map { object[$0] }
    }
    #expect(keys(PressTiming()) == [.null, .null, .null, .null])
    #expect(
      keys(PressTiming(press: 99.25, grant: 1.5, permit: 12.125))
        == [.number(99.25), .number(1.5), .number(12.125), .null])
  }

  @Test func `every reason has a meaning of its own`() {
    let meanings = Reason.allCases.map(\.meaning)
    #expect(Set(meanings).count == Reason.allCases.count)
    for reason in Reason.allCases { #expect(reason.meaning != reason.rawValue) }
  }
}
