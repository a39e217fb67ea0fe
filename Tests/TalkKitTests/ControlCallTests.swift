import TalkWire
import Testing

@testable import TalkKit

@Suite struct ControlCallTests {
  struct Good: Sendable, CustomTestStringConvertible {
    let method: String
    let parameters: JSONValue?
    let call: ControlCall

    init(_ method: String, _ call: ControlCall) { self.init(method, nil, call) }

    init(_ method: String, _ parameters: JSONValue?, _ call: ControlCall) {
      self.method = method
      self.parameters = parameters
      self.call = call
    }

    var testDescription: String { method }

    static let all: [Good] = [
      Good(
        "channel.create", .object(["name": .string("crew")]),
        .request(.channelCreate(name: "crew", strict: false))),
      Good("channel.list", .request(.channelList)),
      Good("channel.show", .object([:]), .request(.channelShow(nil))),
      Good("channel.show", .object(["channel": .string("a")]), .request(.channelShow("a"))),
      Good("channel.use", .object(["channel": .string("a")]), .request(.channelUse("a"))),
      Good("channel.leave", .object(["channel": .string("a")]), .request(.channelLeave("a"))),
      Good("invite", .request(.invite(channel: nil, lifetime: .seconds(600), joiners: 1))),
      Good(
        "invite",
        .object(["seconds": .integer(10), "joiners": .integer(64), "channel": .string("a")]),
        .request(.invite(channel: "a", lifetime: .seconds(10), joiners: 64))),
      Good(
        "join", .object(["invite": .string("talk1x")]),
        .request(.join(invite: InviteText("talk1x")))),
      Good("members", .object(["channel": .null]), .request(.members(nil))),
      Good("talk.hold", .request(.talkHold(.normal))),
      Good(
        "talk.hold", .object(["class": .string("emergency")]), .request(.talkHold(.emergency))),
      Good(
        "members.set",
        .object([
          "member": .string("ben"), "role": .string("listen-only"),
          "grant": .array([.string("priority")]), "withdraw": .array([.string("emergency")]),
        ]),
        .request(
          .membersSet(
            channel: nil, member: "ben",
            change: RightsChange(
              role: .listenOnly, granted: [.priority], withdrawn: [.emergency])))),
      Good("talk.press", .null, .request(.talkPress(.normal))),
      Good("talk.release", .request(.talkRelease)),
      Good("talk.toggle", .request(.talkToggle(.normal))),
      Good(
        "talk.file", .object(["path": .string("/a.wav")]),
        .request(.talkFile(path: "/a.wav", .normal))),
      Good("status", .request(.status)),
      Good("devices", .request(.devices)),
      Good("stop", .request(.stop)),
      Good("events.subscribe", .subscribe(levels: false)),
      Good("events.subscribe", .object(["levels": .bool(true)]), .subscribe(levels: true)),
    ]
  }

  @Test(arguments: Good.all)
  func `a right request is understood`(_ good: Good) throws {
    let call = try ControlCall.parse(method: good.method, parameters: good.parameters)
    #expect(call == good.call)
  }

  @Test func `every method has a right request among these`() {
    #expect(Set(Good.all.map(\.method)) == Set(ControlMethod.allCases.map(\.rawValue)))
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let method: String
    let parameters: JSONValue?
    let code: ControlFailure.Code
    let message: String

    init(
      _ method: String, _ parameters: JSONValue?, _ code: ControlFailure.Code, _ message: String
    ) {
      self.method = method
      self.parameters = parameters
      self.code = code
      self.message = message
    }

    init(_ method: String, _ parameters: JSONValue? = nil, says message: String) {
      self.init(method, parameters, .badParameters, message)
    }

    var testDescription: String { message }

    static let all: [Bad] = [
      Bad(
        "talk.hodl", nil, .unknownMethod,
        "no method is called 'talk.hodl'; did you mean 'talk.hold'?"),
      Bad(
        "talk.press", .object(["class": .string("emergancy")]),
        says: "talk.press 'class' must be one of normal, priority, peril, emergency; "
          + "did you mean 'emergency'?"),
      Bad(
        "members.set", .object(["member": .string("ben")]),
        says: "members.set needs 'role', 'grant' or 'withdraw'"),
      Bad(
        "members.set",
        .object([
          "member": .string("ben"), "grant": .array([.string("peril")]),
          "withdraw": .array([.string("peril")]),
        ]), says: "members.set grants and withdraws the same class"),
      Bad("x", nil, .unknownMethod, "no method is called 'x'"),
      Bad("", nil, .unknownMethod, "no method is called ''"),
      Bad("kick", nil, .unknownMethod, "no method is called 'kick'"),
      Bad(
        "channel.use", .object(["chanel": .string("a")]),
        says: "channel.use takes no 'chanel'; did you mean 'channel'?"),
      Bad("status", .object(["a": .null]), says: "status takes no 'a'"),
      Bad("status", .array([]), says: "status: params must be an object with names"),
      Bad("channel.create", says: "channel.create needs 'name'"),
      Bad("channel.create", .object(["name": .string("")]), says: "channel.create needs 'name'"),
      Bad(
        "channel.create", .object(["name": .integer(1)]),
        says: "channel.create 'name' must be a text"),
      Bad(
        "channel.create", .object(["name": .string(String(repeating: "x", count: 4_097))]),
        says: "channel.create 'name' is longer than 4096 bytes"),
      Bad(
        "invite", .object(["seconds": .integer(9)]),
        says: "invite 'seconds' must be from 10 to 86400"),
      Bad(
        "invite", .object(["seconds": .integer(86_401)]),
        says: "invite 'seconds' must be from 10 to 86400"),
      Bad(
        "invite", .object(["joiners": .integer(0)]), says: "invite 'joiners' must be from 1 to 64"),
      Bad(
        "invite", .object(["joiners": .integer(65)]),
        says: "invite 'joiners' must be from 1 to 64"),
      Bad(
        "invite", .object(["joiners": .number(1.5)]),
        says: "invite 'joiners' must be a whole number"),
      Bad(
        "talk.file", .object(["path": .string("a.wav")]),
        says: "talk.file 'path' must be an absolute path"),
      Bad(
        "talk.file", .object(["path": .string("/a\0.wav")]),
        says: "talk.file 'path' must be an absolute path"),
      Bad(
        "events.subscribe", .object(["levels": .string("yes")]),
        says: "events.subscribe 'levels' must be true or false"),
    ]
  }

  @Test(arguments: Bad.all)
  func `a wrong request is refused by what is wrong, with what was meant`(_ bad: Bad) {
    do throws(ControlFailure) {
      let call = try ControlCall.parse(method: bad.method, parameters: bad.parameters)
      Issue.record("understood as \(call)")
    } catch {
      #expect(error == ControlFailure(bad.code, .usage, bad.message))
    }
  }

  @Test func `an invite shows in no description of its request or grant`() {
    let request = ControlRequest.join(invite: InviteText(Sample.invite))
    let grant = InviteGrant(invite: Sample.invite, channel: "crew", seconds: 600, joiners: 1)
    var shown = "\(request) \(grant) \(ControlResult.invite(grant))"
    dump(request, to: &shown)
    #expect(!shown.contains("talk1"))
    #expect(InviteText(Sample.invite).text == Sample.invite)
  }

  @Test(arguments: [
    ("chanel", "channel"), ("talk.hodl", "talk.hold"), ("STATUS", "status"), ("stats", "status"),
    ("zzzzzz", nil), ("", nil),
  ])
  func `the nearest name is found, and none when nothing is near`(_ word: String, _ name: String?) {
    let names = ["channel", "talk.hold", "status", "stop"]
    #expect(NearestName.of(word, among: names) == name)
    #expect(NearestName.of(word, among: []) == nil)
  }
}
