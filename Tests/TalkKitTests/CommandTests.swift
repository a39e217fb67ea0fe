import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkKit

@Suite struct CommandTests {
  /// A node on a socket in a folder, for the built program.
  final class Fixture {
    let scratch = Scratch()
    let node: FakeNode
    let server: ControlServer

    init(_ node: FakeNode = FakeNode()) throws {
      self.node = node
      server = try ControlServer(path: scratch.socket, handler: node)
    }

    deinit { server.close() }

    func program(_ arguments: [String], input: Program.Input = .null) throws -> Program {
      try Program(arguments, state: scratch.path, input: input, folder: scratch.path)
    }
  }

  struct Good: Sendable, CustomTestStringConvertible {
    let line: String
    let request: ControlRequest
    let output: String

    var testDescription: String { line }

    static let all = [
      Good(
        line: "channel create crew", request: .channelCreate(name: "crew"),
        output: "made crew (\(Sample.crew))\n"),
      Good(
        line: "channel list", request: .channelList,
        output: "* crew  ready  1 here  \(Sample.crew)\n"),
      Good(
        line: "channel show", request: .channelShow(nil),
        output: "* crew  ready\n    ben b0000000  present  hears you  0.4 ms\n    floor: free\n"),
      Good(line: "channel use crew", request: .channelUse("crew"), output: "talking on crew\n"),
      Good(line: "channel leave crew", request: .channelLeave("crew"), output: "left crew\n"),
      Good(
        line: "invite --for 30m --max=3 --channel crew",
        request: .invite(channel: "crew", lifetime: .seconds(1_800), joiners: 3),
        output: "\(Sample.invite)\n"),
      Good(
        line: "members", request: .members(nil),
        output: "ben b0000000  present  hears you  0.4 ms\n"
      ),
      Good(
        line: "members --json --channel crew", request: .members("crew"),
        output: String(decoding: JSONLine.encode(Sample.channel().members), as: UTF8.self) + "\n"),
      Good(line: "talk press", request: .talkPress, output: ""),
      Good(line: "talk release", request: .talkRelease, output: ""),
      Good(line: "talk toggle", request: .talkToggle, output: ""),
      Good(line: "status --json", request: .status, output: StatusTests.expected + "\n"),
      Good(
        line: "devices", request: .devices,
        output: "--capture pulse:mic  Mic  in use  default\n--playback pulse:spk  Speaker\n"),
    ]
  }

  @Test(arguments: Good.all)
  func `a command asks the node and prints its answer`(_ good: Good) throws {
    let fixture = try Fixture()
    let program = try fixture.program(good.line.split(separator: " ").map(String.init))
    #expect(program.end() == 0)
    #expect(program.output == good.output)
    #expect(fixture.node.requests == [good.request])
  }

  struct Refused: Sendable, CustomTestStringConvertible {
    let reason: Reason
    let exitCode: Int32
    var testDescription: String { reason.rawValue }

    static let all = [
      Refused(reason: .noSuchChannel, exitCode: 64), Refused(reason: .badInvite, exitCode: 64),
      Refused(reason: .noChannel, exitCode: 69), Refused(reason: .unheard, exitCode: 69),
      Refused(reason: .noMicrophone, exitCode: 69), Refused(reason: .busy, exitCode: 75),
      Refused(reason: .queueFull, exitCode: 75), Refused(reason: .listenOnly, exitCode: 77),
      Refused(reason: .stateFile, exitCode: 78),
    ]
  }

  @Test(arguments: Refused.all)
  func `a refusal is one line and the exit code of its reason`(_ refused: Refused) throws {
    let failure = ControlFailure(refused.reason, "thing: cure\u{1b}[2J")
    let fixture = try Fixture(FakeNode { _ in .failure(failure) })
    let program = try fixture.program(["talk", "press"])
    #expect(program.end() == refused.exitCode)
    #expect(program.output == "")
    #expect(program.errors == "talkaround: thing: cure\\u{1b}[2J\n")
  }

  @Test func `without a node every command says so with 69`() throws {
    let scratch = Scratch()
    for line in ["status", "watch", "talk hold", "invite", "members", "devices"] {
      let program = try Program(
        line.split(separator: " ").map(String.init), state: scratch.path)
      #expect(program.end() == 69)
      #expect(program.errors.hasPrefix("talkaround: no node is running"))
      #expect(program.errors.contains("talkaround start"))
    }
  }

  @Test func `a state directory with too long a path is refused with 64`() throws {
    let program = try Program(["status"], state: "/tmp/" + String(repeating: "x", count: 100))
    #expect(program.end() == 64)
    #expect(program.errors.contains("too long for a socket"))
  }

  @Test func `the runtime directory is where a node is looked for`() throws {
    let fixture = try Fixture()
    let folder = "\(fixture.scratch.path)/talkaround"
    let server = try ControlServer(path: "\(folder)/control.sock", handler: FakeNode())
    defer { server.close() }
    let program = try Program(
      ["status", "--json"], environment: ["XDG_RUNTIME_DIR": fixture.scratch.path])
    #expect(program.end() == 0)
    #expect(program.output == StatusTests.expected + "\n")
  }

  @Test func `names of others are escaped wherever they are shown`() throws {
    let fixture = try Fixture(
      FakeNode { _ in .success(.status(Sample.report(member: "b\u{1b}[31m\u{202e}\u{9b}n"))) })
    let program = try fixture.program(["status"])
    #expect(program.end() == 0)
    #expect(program.output.contains("b\\u{1b}[31m\\u{202e}\\u{9b}n b0000000  present"))
    #expect(!program.output.unicodeScalars.contains("\u{1b}"))
  }

  @Test func `an invite comes from a pipe or a file`() throws {
    let fixture = try Fixture()
    let path = "\(fixture.scratch.path)/invite"
    try "  \(Sample.invite.uppercased())\nsecond line\n".write(
      toFile: path, atomically: true, encoding: .utf8)
    let piped = try fixture.program(["join"], input: .text("\(Sample.invite)\n"))
    #expect(piped.end() == 0)
    #expect(piped.output == "joined crew\n")
    let dash = try fixture.program(["join", "-"], input: .text(Sample.invite))
    #expect(dash.end() == 0)
    let filed = try fixture.program(["join", path])
    #expect(filed.end() == 0)
    let asked = fixture.node.requests.map { request -> String in
      if case .join(let invite) = request { invite.text } else { "" }
    }
    #expect(asked == [Sample.invite, Sample.invite, Sample.invite.uppercased()])
  }

  @Test func `an invite as an argument is refused before anything else, and not repeated`() throws {
    let fixture = try Fixture()
    let lines = [
      ["join", Sample.invite], ["join", Sample.invite.uppercased()], ["join=\(Sample.invite)"],
      ["--invite", Sample.invite], ["status", "--state=\(Sample.invite)"], ["join", "talk1abc"],
    ]
    for line in lines {
      let program = try fixture.program(line)
      #expect(program.end() == 64)
      #expect(program.errors.contains("an invite must not be an argument"))
      #expect(!program.errors.lowercased().contains("talk1a"))
    }
    #expect(fixture.node.requests.isEmpty)
  }

  @Test func `what holds no invite is named`() throws {
    let fixture = try Fixture()
    let cases: [([String], String, String)] = [
      (["join"], "hello\n", "standard input: no invite in it"),
      (["join"], "", "standard input: no invite in it"),
      (["join", "absent"], "", "absent: No such file or directory"),
      (["join", "."], "", ".: no invite in it"),
    ]
    for (line, input, message) in cases {
      let program = try fixture.program(line, input: .text(input))
      #expect(program.end() == 64)
      #expect(program.errors.contains(message))
    }
    #expect(fixture.node.requests.isEmpty)
  }

  @Test func `at the prompt an invite does not show`() throws {
    let fixture = try Fixture()
    let terminal = Terminal()
    let before = terminal.modes
    let program = try fixture.program(["join"], input: .terminal(terminal))
    #expect(program.wait { $0.errors.contains("Invite") && !terminal.echoes })
    terminal.type("\(Sample.invite)\n")
    #expect(program.end() == 0)
    #expect(terminal.shown == "joined crew\r\n")
    #expect(terminal.modes == before)
    let broken = try fixture.program(["join"], input: .terminal(terminal))
    #expect(broken.wait { $0.errors.contains("Invite") && !terminal.echoes })
    broken.signal(SIGTERM)
    #expect(broken.end() == -SIGTERM)
    #expect(terminal.modes == before)
  }

  @Test func `stop ends with 0 once the node is gone`() throws {
    let scratch = Scratch()
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    let program = try Program(["stop"], state: scratch.path)
    let client = LineClient(scratch.socket)
    client.send(ControlServerTests.request("status"))
    _ = client.object()
    server.close()
    // Whether the request or the end came first, no node is left.
    #expect([0, 69].contains(program.end() ?? -1))
    let node = FakeNode()
    let second = try ControlServer(path: scratch.socket, handler: node)
    let patient = try Program(["stop"], state: scratch.path)
    #expect(node.wait { $0.requests == [.stop] })
    second.close()
    #expect(patient.end() == 0)
  }

  @Test func `watch prints a snapshot, then each event on a line of its own`() throws {
    let fixture = try Fixture()
    let program = try fixture.program(["watch"])
    #expect(program.wait { $0.output.contains("\n") })
    for state in FloorState.allCases {
      fixture.server.publish(.floor(Sample.floorEvent(state, name: "b\u{9b}n")), at: .zero)
    }
    #expect(program.wait { $0.output.split(separator: "\n").count == 6 })
    let events = program.output.split(separator: "\n").compactMap {
      JSONLine.decode(WatchEvent.self, Array($0.utf8))
    }
    #expect(events.map(\.seq) == [0, 1, 2, 3, 4, 5])
    #expect(events.map(\.content.name) == ["snapshot"] + Array(repeating: "floor", count: 5))
    #expect(!program.output.unicodeScalars.contains("\u{9b}"))
    program.signal(SIGINT)
    #expect(program.end() == -SIGINT)
  }

  @Test func `watch ends with 0 as soon as nobody reads it, without an event`() throws {
    let fixture = try Fixture()
    let program = try fixture.program(["watch"])
    #expect(program.wait { $0.output.contains("\n") })
    program.closeOutput()
    #expect(program.end() == 0)
    #expect(program.errors == "")
  }

  @Test(arguments: ["watch", "status", "status --json", "config reference", "--help"])
  func `results that can't be written end with 74`(_ line: String) throws {
    let fixture = try Fixture()
    let words = line.split(separator: " ").map(String.init)
    let program = try Program(words, state: fixture.scratch.path, output: "/dev/full")
    #expect(program.end() == 74)
    #expect(
      program.errors
        == "talkaround: standard output: No space left on device; the results are not whole\n")
  }

  @Test func `a name that was cut is told`() throws {
    let fixture = try Fixture(
      FakeNode { _ in .success(.channel(Sample.channel(name: "cafe\u{301}"))) })
    let cut = try fixture.program(["channel", "create", "cafe\u{301}s and more"])
    #expect(cut.end() == 0)
    #expect(cut.errors.contains("the channel's name: a name has at most 32 bytes"))
    #expect(cut.errors.contains("it is now \"cafe\u{301}\""))
    let whole = try fixture.program(["channel", "create", "cafe\u{301}"])
    #expect(whole.end() == 0)
    #expect(!whole.errors.contains("32 bytes"))
  }

  @Test func `watch ends with 69 when the node does`() throws {
    let scratch = Scratch()
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    let program = try Program(["watch"], state: scratch.path)
    #expect(program.wait { $0.output.contains("\n") })
    server.close()
    #expect(program.end() == 69)
    #expect(program.errors.contains("the node closed the connection"))
  }
}
