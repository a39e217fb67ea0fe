import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkKit

@Suite struct TalkCommandTests {
  typealias Fixture = CommandTests.Fixture

  static func holds(_ node: FakeNode) -> Int { node.requests.count { $0 == .talkHold } }

  /// A hold that has been seen by the node, and whose stream of events is open.
  static func holding(_ fixture: Fixture, _ input: Program.Input = .null) throws -> Program {
    let program = try fixture.program(["talk", "hold"], input: input)
    #expect(fixture.node.wait { holds($0) >= 1 })
    return program
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `a hold is asserted again until a signal, then released`(_ number: Int32) throws {
    let fixture = try Fixture()
    let program = try Self.holding(fixture)
    fixture.server.publish(Sample.tone("permit"), at: .zero)
    #expect(program.wait { $0.errors == "speak now\n" })
    #expect(fixture.node.wait { Self.holds($0) >= 4 })
    program.signal(number)
    #expect(program.end() == 0)
    #expect(fixture.node.requests.last == .talkRelease)
    #expect(Set(fixture.node.clients).count == 1)
  }

  @Test func `a hold is asserted at 5 Hz also while events come`() throws {
    let fixture = try Fixture()
    let program = try Self.holding(fixture)
    let began = Date()
    for _ in 0..<2_000 {
      fixture.server.publish(.floor(Sample.floorEvent(.ours)), at: .zero)
    }
    #expect(fixture.node.wait { Self.holds($0) >= 6 })
    // Five beats of 200 ms; far below the 500 ms at which the node lets go.
    #expect(Date().timeIntervalSince(began) < 2.5)
    program.signal(SIGINT)
    _ = program.end()
  }

  @Test func `the end of standard input releases, and what comes before it does not`() throws {
    let fixture = try Fixture()
    let program = try Self.holding(fixture, .pipe)
    program.write("xyz\n")
    #expect(fixture.node.wait { Self.holds($0) >= 3 })
    fixture.server.publish(Sample.tone("permit"), at: .zero)
    #expect(program.wait { $0.errors == "speak now\n" })
    program.endInput()
    #expect(program.end() == 0)
    #expect(fixture.node.requests.last == .talkRelease)
  }

  @Test func `an input that had ended before, or says nothing, does not release`() throws {
    for input in [Program.Input.null, .text("")] {
      let fixture = try Fixture()
      let program = try Self.holding(fixture, input)
      #expect(fixture.node.wait { Self.holds($0) >= 4 })
      program.signal(SIGINT)
      #expect(program.end() == 75)
      #expect(program.errors == "talkaround: released before it was granted\n")
    }
  }

  @Test func `a hold that is killed is reported to the node`() throws {
    let fixture = try Fixture()
    let program = try Self.holding(fixture)
    program.signal(SIGKILL)
    #expect(fixture.node.wait { $0.gone == [$0.clients[0]] })
    #expect(program.end() == -SIGKILL)
  }

  @Test func `a hold ends with 69 when the node does`() throws {
    let scratch = Scratch()
    let node = FakeNode()
    let server = try ControlServer(path: scratch.socket, handler: node)
    let program = try Program(["talk", "hold"], state: scratch.path)
    #expect(node.wait { Self.holds($0) >= 1 })
    server.close()
    #expect(program.end() == 69)
    #expect(program.errors.contains("the node closed the connection"))
  }

  struct Tones: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let tones: [WatchEvent.Content]
    let said: [String]
    let exitCode: Int32

    static let all = [
      Tones(
        testDescription: "busy", tones: [Sample.tone("busy", reason: .busy, name: "b\u{1b}[1mn")],
        said: ["busy: b\\u{1b}[1mn speaks"], exitCode: 75),
      Tones(
        testDescription: "queued, then permitted",
        tones: [Sample.tone("queued", name: "ben", place: 2), Sample.tone("permit")],
        said: ["queued: place 2, ben speaks", "speak now"], exitCode: 0),
      Tones(
        testDescription: "queued", tones: [Sample.tone("queued", name: "ben", place: 2)],
        said: ["queued: place 2, ben speaks"], exitCode: 75),
      Tones(
        testDescription: "unheard", tones: [Sample.tone("unheard", reason: .alone)],
        said: ["unheard: no other member is here"], exitCode: 69),
      Tones(
        testDescription: "cut after a while",
        tones: [
          Sample.tone("permit"), Sample.tone("limit-warning"), Sample.tone("cut", reason: .limit),
        ],
        said: ["speak now", "the talk limit comes soon", "cut: the talk limit was reached"],
        exitCode: 0),
    ]
  }

  @Test(arguments: Tones.all)
  func `what became of the press is told, and ends in its exit code`(_ tones: Tones) throws {
    let fixture = try Fixture()
    let program = try Self.holding(fixture)
    for tone in tones.tones { fixture.server.publish(tone, at: .zero) }
    let said = tones.said.map { "\($0)\n" }.joined()
    #expect(program.wait { $0.errors == said })
    program.signal(SIGINT)
    #expect(program.end() == tones.exitCode)
    let last = tones.exitCode == 0 ? "" : "talkaround: \(tones.said.last ?? "")\n"
    #expect(program.errors == said + last)
  }

  @Test func `a refused hold ends at once`() throws {
    let fixture = try Fixture(
      FakeNode { $0 == .talkHold ? .failure(.noChannel) : FakeNode.ordinary($0) })
    let program = try fixture.program(["talk", "hold"])
    #expect(program.end() == 69)
    #expect(program.errors.contains("channel create"))
  }

  struct Heard: Sendable {
    let report: HeardEvent
    let any: Bool
    let exitCode: Int32
    let said: String

    static let all = [
      Heard(report: Sample.heard(), any: false, exitCode: 0, said: "heard by 1 of 1\n"),
      Heard(
        report: Sample.heard(missed: ["cl\u{1b}eo"]), any: false, exitCode: 69,
        said: "talkaround: heard by 1 of 2, not cl\\u{1b}eo\n"),
      Heard(
        report: Sample.heard(missed: ["cleo"]), any: true, exitCode: 0, said: "heard by 1 of 2\n"),
      Heard(
        report: HeardEvent(
          channel: Sample.crew, turn: 1, heard: [], missed: [.init(id: "x", name: "ben")]),
        any: true, exitCode: 69, said: "talkaround: unheard: not by ben\n"),
      Heard(
        report: HeardEvent(channel: Sample.crew, turn: 1, heard: [], missed: []), any: false,
        exitCode: 69, said: "talkaround: unheard: no other member is here\n"),
    ]
  }

  @Test(arguments: Heard.all)
  func `a spoken file ends in who heard it`(_ heard: Heard) throws {
    let fixture = try Fixture(FakeNode { _ in .success(.heard(heard.report)) })
    let path = "\(fixture.scratch.path)/speech.wav"
    #expect(FileManager.default.createFile(atPath: path, contents: Data("RIFF".utf8)))
    let any = heard.any ? ["--any"] : []
    let program = try fixture.program(["talk", "--file", "./speech.wav"] + any)
    #expect(program.end() == heard.exitCode)
    #expect(program.errors == heard.said)
    #expect(fixture.node.requests.last == .talkFile(path: path))
  }

  @Test func `a file behind somebody who speaks waits, and says so`() throws {
    let fixture = try Fixture(
      FakeNode {
        if case .talkFile = $0 { nil } else { FakeNode.ordinary($0) }
      })
    let path = "\(fixture.scratch.path)/speech.wav"
    #expect(FileManager.default.createFile(atPath: path, contents: Data("RIFF".utf8)))
    let program = try fixture.program(["talk", "--file", path])
    #expect(fixture.node.wait { $0.keptCount == 1 })
    fixture.server.publish(
      Sample.tone("queued", reason: .busy, name: "b\u{1b}n", place: 1), at: .zero)
    #expect(program.wait { $0.errors == "queued: place 1, b\\u{1b}n speaks\n" })
    fixture.node.answerKept(.success(.heard(Sample.heard())))
    #expect(program.end() == 0)
    #expect(program.errors.hasSuffix("speaks\nheard by 1 of 1\n"))
  }

  @Test func `speech from standard input reaches the node as a file, and leaves none`() throws {
    // Larger than a pipe holds, so that it is read in pieces.
    let speech = String(repeating: "RIFF speech ", count: 20_000)
    let fixture = try Fixture(
      FakeNode { request in
        guard case .talkFile(let path) = request else { return FakeNode.ordinary(request) }
        guard
          FileManager.default.contents(atPath: path) == Data(speech.utf8)
        else { return .failure(ControlFailure(.badFile, "not the speech")) }
        return .success(.heard(Sample.heard()))
      })
    let program = try fixture.program(["talk", "--file", "-"], input: .text(speech))
    #expect(program.end() == 0)
    #expect(program.errors == "heard by 1 of 1\n")
    let empty = try fixture.program(["talk", "--file", "-"], input: .text(""))
    #expect(empty.end() == 64)
    let absent = try fixture.program(["talk", "--file", "absent.wav"])
    #expect(absent.end() == 64)
    #expect(absent.errors.contains("absent.wav: No such file or directory"))
  }
}
