import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkCLI
@testable import TalkKit

@Suite struct ScreenTests {
  typealias Fixture = CommandTests.Fixture

  @Test func `the screen shows the channel, takes the key, and gives the terminal back`() throws {
    let fixture = try Fixture(
      FakeNode {
        $0 == .status
          ? .success(.status(Sample.report(member: "b\u{1b}[31mn"))) : FakeNode.ordinary($0)
      })
    let terminal = Terminal(columns: 60, rows: 20)
    let before = terminal.modes
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("b\\u{1b}[31mn b0000000  present") })
    let foot = "SPACE talks, again ends (this terminal reports no releases)"
    #expect(terminal.wait { $0.contains(foot) })
    terminal.type(" ")
    #expect(fixture.node.wait { TalkCommandTests.holds($0) >= 3 })
    fixture.server.publish(Sample.tone("permit"), at: .zero)
    #expect(terminal.wait { $0.contains("speak now") && $0.contains("SPACE ends talking") })
    terminal.type(" ")
    #expect(fixture.node.wait { $0.requests.contains(.talkRelease) })
    terminal.type("q")
    #expect(program.end() == 0)
    #expect(terminal.shown.hasSuffix(TerminalMode.leave.description))
    #expect(terminal.modes == before)
    #expect(program.errors.contains("The node goes on listening"))
  }

  @Test(arguments: [SIGTERM, SIGSEGV, SIGABRT])
  func `a signal or a crash gives the terminal back too`(_ number: Int32) throws {
    let fixture = try Fixture()
    let terminal = Terminal()
    let before = terminal.modes
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("ben b0000000") })
    #expect(terminal.modes != before)
    program.signal(number)
    #expect(program.end() == (number == SIGTERM ? 0 : -number))
    #expect(terminal.shown.hasSuffix(TerminalMode.leave.description))
    #expect(terminal.modes == before)
  }

  @Test func `a node that ends takes the screen with it, and the reason is told`() throws {
    let scratch = Scratch()
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    let terminal = Terminal()
    let program = try Program([], state: scratch.path, input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("ben b0000000") })
    server.close()
    #expect(program.end() == 69)
    #expect(terminal.shown.hasSuffix(TerminalMode.leave.description))
  }

  @Test func `a resized terminal is drawn anew at its size`() throws {
    let fixture = try Fixture()
    let terminal = Terminal(columns: 80, rows: 24)
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains(String(repeating: "─", count: 80)) })
    terminal.resize(columns: 33, rows: 9)
    program.signal(SIGWINCH)
    let rule = String(repeating: "─", count: 33)
    #expect(terminal.wait { $0.contains("\r\n\(rule)\r\n") })
    terminal.type("q")
    #expect(program.end() == 0)
  }

  static func model(_ events: [WatchEvent.Content] = []) -> ScreenModel {
    var model = ScreenModel()
    model.take(Sample.report())
    for (index, content) in events.enumerated() {
      model.take(
        WatchEvent(
          seq: UInt64(index), at: Instant(nanoseconds: UInt64(index) * 1_000_000_000),
          wallSeconds: 0, content: content))
    }
    return model
  }

  @Test func `a page fits every size of terminal`() {
    for model in [ScreenModel(), Self.model()] {
      for width in [1, 2, 10, 80, 300] {
        for height in [1, 2, 3, 5, 24, 100] {
          let lines = ScreenText(width: width, height: height).lines(model, keyIsDown: false)
          #expect(lines.count == height)
          #expect(lines.allSatisfy { DisplayText.columns($0) == width })
        }
      }
    }
  }

  @Test func `who speaks, how loud, and who spoke last are shown`() {
    func burst(_ phase: BurstEvent.Phase, _ level: Double? = nil) -> WatchEvent.Content {
      .burst(
        BurstEvent(
          channel: Sample.crew, turn: 13, speaker: Sample.ben, name: "ben", phase: phase,
          level: level))
    }
    let taken = WatchEvent.Content.floor(
      Sample.floorEvent(.taken, holder: Sample.ben, name: "ben"))
    let loud = Self.model([taken, burst(.began), burst(.level, -30)])
    let text = ScreenText(width: 70, height: 24)
    let page = text.lines(loud, keyIsDown: false).joined(separator: "\n")
    #expect(page.contains("Floor: ben speaks"))
    #expect(page.contains("[" + String(repeating: "#", count: 20) + " "))
    #expect(page.contains("Last:  ben …"))
    let over = Self.model([
      taken, burst(.began), burst(.level, -30), burst(.ended),
      .floor(Sample.floorEvent(.idle)),
    ])
    let quiet = text.lines(over, keyIsDown: false).joined(separator: "\n")
    #expect(quiet.contains("Floor: free"))
    #expect(!quiet.contains("#"))
    #expect(quiet.contains("Last:  ben 2.0 s"))
  }

  @Test func `a queue with our place is shown`() {
    var event = Sample.floorEvent(.queued, holder: Sample.ben, name: "ben", place: 1)
    event.queue = [Sample.anna]
    let page = ScreenText(width: 70, height: 24).lines(
      Self.model([.floor(event)]), keyIsDown: true)
    #expect(
      page.contains { $0.hasPrefix("Floor: you wait, place 1; ben speaks (0 s); queue: you") })
  }

  static func page(
    _ width: Int, _ model: ScreenModel, keyIsDown: Bool = false
  ) -> [String] {
    ScreenText(width: width, height: 24).lines(model, keyIsDown: keyIsDown).map {
      String($0.reversed().drop { $0 == " " }.reversed())
    }
  }

  @Test func `on forty columns nothing of the foot is cut`() {
    let page = Self.page(40, Self.model([Sample.tone("cut", reason: .overruled)]))
    #expect(
      page.suffix(3) == [
        "cut: another holder's claim won", "SPACE talks, again ends   q quits",
        "(this terminal reports no releases)",
      ])
    let long = Self.page(40, Self.model([Sample.tone("unheard", reason: .noSpeaker)]))
    #expect(
      long.suffix(4).prefix(2) == [
        "unheard: there is no loudspeaker, or it", "could not be opened",
      ])
    #expect(Self.page(80, Self.model()).last?.hasSuffix("releases)   q quits") == true)
    #expect(Self.page(60, Self.model()).last == "q quits")
  }

  @Test(arguments: [
    (FloorState.idle, false, "SPACE talks, again ends"), (.idle, true, "SPACE ends talking"),
    (.taken, false, "SPACE asks for the floor"), (.taken, true, "SPACE gives up waiting"),
    (.requested, true, "SPACE gives up waiting"), (.queued, true, "SPACE gives up waiting"),
    (.queued, false, "SPACE gives up waiting"), (.ours, true, "SPACE ends talking"),
    (.ours, false, "SPACE ends talking"),
  ])
  func `the foot says what the space bar does now`(
    _ state: FloorState, _ isDown: Bool, _ hint: String
  ) {
    let model = Self.model([.floor(Sample.floorEvent(state, holder: Sample.ben, name: "ben"))])
    #expect(Self.page(80, model, keyIsDown: isDown).last?.hasPrefix(hint) == true)
  }

  @Test func `a message is gone once the floor has overtaken it`() {
    let queued = Self.model([
      .floor(Sample.floorEvent(.queued, holder: Sample.ben, name: "ben", place: 1)),
      Sample.tone("queued", reason: .busy, name: "ben", place: 1),
    ])
    #expect(queued.message == "queued: place 1, ben speaks")
    var later = queued
    later.take(
      WatchEvent(
        seq: 9, at: .zero, wallSeconds: 0,
        content: .floor(Sample.floorEvent(.taken, holder: Sample.ben))))
    #expect(later.message == "")
    var spoken = Self.model([
      .floor(Sample.floorEvent(.ours, holder: Sample.anna)), Sample.tone("permit"),
    ])
    #expect(spoken.message == "speak now")
    spoken.take(Sample.report())
    #expect(spoken.message == "")
    #expect(
      Self.model([Sample.tone("unheard", reason: .alone), .floor(Sample.floorEvent(.idle))])
        .message.hasPrefix("unheard"))
  }

  @Test func `a space lets go of a key that is pressed elsewhere, and a held one presses none`()
    throws
  {
    var report = Sample.report()
    report.channels[0].floor = Sample.floor(.ours)
    let latched = report
    let fixture = try Fixture(
      FakeNode { $0 == .status ? .success(.status(latched)) : FakeNode.ordinary($0) })
    let terminal = Terminal()
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("SPACE ends talking") })
    terminal.type(" ")
    #expect(fixture.node.wait { $0.requests.contains(.talkRelease) })
    terminal.type("  ")
    terminal.type("q")
    #expect(program.end() == 0)
    #expect(TalkCommandTests.holds(fixture.node) == 0)
  }

  @Test func `a press that the node ended lets go of the key`() {
    #expect(Self.model([Sample.tone("cut", reason: .limit)]).pressEnded)
    #expect(Self.model([Sample.tone("busy", reason: .queueFull)]).pressEnded)
    #expect(!Self.model([Sample.tone("queued", place: 1)]).pressEnded)
    #expect(!Self.model([Sample.tone("permit")]).pressEnded)
  }

  struct Keys: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let presses: [UInt64]
    /// Times, and whether the key is down then.
    let seen: [(at: UInt64, down: Bool)]

    static let all = [
      Keys(
        testDescription: "a press switches on, the next one off", presses: [0, 5_000],
        seen: [(1, true), (4_999, true), (5_050, true), (5_090, false), (9_000, false)]),
      Keys(
        testDescription: "a held bar repeats, and is up when it stops",
        presses: [0] + Array(stride(from: 500, through: 2_000, by: 33)),
        seen: [(499, true), (580, true), (1_985, true), (2_150, true), (2_190, false)]),
      Keys(
        testDescription: "two quick presses are a hold that ends by itself", presses: [0, 120],
        seen: [(100, true), (209, true), (210, false)]),
    ]
  }

  @Test(arguments: Keys.all)
  func `the space bar is a key though a terminal reports no releases`(_ keys: Keys) {
    var key = SpaceKey()
    var presses = keys.presses[...]
    var seen = keys.seen[...]
    for now in 0...(keys.seen.last?.at ?? 0) {
      key.expire(at: now)
      if presses.first == now {
        key.press(at: now)
        presses.removeFirst()
      }
      if let next = seen.first, next.at == now {
        #expect(key.isDown == next.down, "at \(now)")
        seen.removeFirst()
      }
    }
    #expect(seen.isEmpty)
  }

  @Test(arguments: [
    ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("👩‍👩‍👧", 2), ("❤️", 2), ("", 0),
  ])
  func `columns are counted as terminals do`(_ text: String, _ columns: Int) {
    #expect(DisplayText.columns(text) == columns)
    #expect(DisplayText.columns(DisplayText.fit(text, to: 3)) == 3)
  }
}
