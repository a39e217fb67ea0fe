import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkCLI
@testable import TalkKit

@Suite struct FirstRunTests {
  typealias Fixture = CommandTests.Fixture

  /// A node without a channel, until one is made or joined.
  final class EmptyNode: @unchecked Sendable {
    private let lock = NSLock()
    private var channel: ChannelStatus?
    private var names: [String] = []

    /// What the channel looks like from now on.
    func show(_ channel: ChannelStatus?) { lock.withLock { self.channel = channel } }

    func answer(_ request: ControlRequest) -> ControlReply? {
      lock.withLock {
        switch request {
        case .status:
          var report = Sample.report()
          report.channels = channel.map { [$0] } ?? []
          return .success(.status(report))
        case .channelCreate(let name):
          names.append(name)
          if name == "taken" {
            return .failure(ControlFailure(.channelExists, "a channel called 'taken' is here"))
          }
          channel = FirstRunTests.channel(nil, .alone, name: name)
          return .success(.channel(channel!))
        case .join(let invite):
          guard invite.text == Sample.invite else {
            return .failure(ControlFailure(.badInvite, "the end of the invite is missing"))
          }
          channel = FirstRunTests.channel(nil, .notAdmitted)
          return .success(.channel(channel!))
        case .channelShow: return channel.map { .success(.channel($0)) } ?? .failure(.noChannel)
        default: return FakeNode.ordinary(request)
        }
      }
    }
  }

  /// The channel with or without ben on it.
  static func channel(
    _ ben: MemberStatus.State?, _ reason: Reason?, name: String = "crew"
  ) -> ChannelStatus {
    var channel = Sample.channel(name: name)
    channel.reason = reason
    channel.status = reason == nil ? .ready : .connecting
    if let ben { channel.members[0].state = ben } else { channel.members = [] }
    return channel
  }

  private func make() throws -> (EmptyNode, Fixture, Terminal) {
    let node = EmptyNode()
    let fixture = try Fixture(FakeNode { node.answer($0) })
    return (node, fixture, Terminal(columns: 100))
  }

  @Test func `c asks for a name, shows an invite, and waits until somebody hears us`() throws {
    let (node, fixture, terminal) = try make()
    let before = terminal.modes
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.hasSuffix("No channel yet.  [c]reate one, or [j]oin by invite?  ") })
    terminal.type("c")
    #expect(terminal.wait { $0.hasSuffix("c\r\nChannel name: ") })
    terminal.type("crx\u{7f}ew\r")
    #expect(terminal.wait { $0.contains("\r\n\r\n\(Sample.invite)\r\n\r\n") })
    #expect(terminal.shown.contains("You are \"anna\" on "))
    #expect(terminal.shown.contains(", alone on \"crew\". On another laptop: talkaround, then j"))
    #expect(terminal.wait { $0.contains("q: quit") })
    node.show(Self.channel(.wantsIn, .alone))
    #expect(terminal.wait { $0.contains("ben b0000000 wants to join, but no invite is open") })
    terminal.type("i")
    #expect(terminal.wait { $0.components(separatedBy: Sample.invite).count == 3 })
    node.show(Self.channel(.present, nil))
    #expect(terminal.wait { $0.contains("ben is here, hears you (0.4 ms).  Hold SPACE to talk") })
    #expect(terminal.wait { $0.contains(TerminalMode.enter.description) })
    terminal.type("q")
    #expect(program.end() == 0)
    #expect(program.errors.contains("The node goes on listening"))
    #expect(terminal.modes == before)
  }

  @Test func `j takes an invite that does not show, also over several lines`() throws {
    let (node, fixture, terminal) = try make()
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("[j]oin") })
    // Typed ahead, all at once: nothing is lost.
    let invite = Sample.invite
    terminal.type("j\r\(invite.prefix(80))\r\(invite.dropFirst(80))\r")
    #expect(terminal.wait { $0.contains("Joining \"crew\" …") })
    #expect(!terminal.shown.contains(invite.prefix(12)))
    node.show(Self.channel(nil, .alone))
    #expect(terminal.wait { $0.contains("Joined \"crew\".") })
    node.show(Self.channel(.present, nil))
    #expect(terminal.wait { $0.contains("ben is here, hears you (0.4 ms)") })
    terminal.type("q")
    #expect(program.end() == 0)
  }

  @Test func `bad input is told and asked for again`() throws {
    let (_, fixture, terminal) = try make()
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("[j]oin") })
    terminal.type("x")
    #expect(terminal.wait { $0.hasSuffix("Press c to create, j to join, or q to quit:  ") })
    terminal.type("\u{1b}[Aj")
    #expect(terminal.wait { $0.hasSuffix("it does not show): ") })
    terminal.type("\r\rhello\r")
    #expect(terminal.wait { $0.contains("That is no invite: one begins with talk1.") })
    terminal.type("talk1abc\r")
    #expect(terminal.wait { $0.contains("the end of the invite is missing") })
    terminal.type("\(Sample.invite)\r")
    #expect(terminal.wait { $0.contains("Joining") })
    terminal.type("q")
    #expect(program.end() == 0)
  }

  @Test func `a name that is taken is asked for again, and a signal gives the terminal back`()
    throws
  {
    let (_, fixture, terminal) = try make()
    let before = terminal.modes
    let program = try fixture.program([], input: .terminal(terminal))
    #expect(terminal.wait { $0.contains("[j]oin") })
    terminal.type("c")
    #expect(terminal.wait { $0.hasSuffix("Channel name: ") })
    terminal.type("taken\r")
    #expect(terminal.wait { $0.hasSuffix("a channel called 'taken' is here\r\nChannel name: ") })
    program.signal(SIGTERM)
    #expect(program.end() == 0)
    #expect(terminal.modes == before)
  }

  @Test func `who waits for long is told what to check, once`() {
    var waiting = AttachWaiting(isJoining: true, at: 0)
    let channel = Self.channel(nil, .notAdmitted)
    #expect(waiting.news(channel, at: 9_999) == [])
    #expect(waiting.news(channel, at: 10_000) == AttachWaiting.advice)
    #expect(waiting.news(channel, at: 20_000) == [])
    #expect(waiting.news(Self.channel(nil, .alone), at: 21_000) == ["Joined \"crew\"."])
    #expect(waiting.whoHears(Self.channel(nil, .alone)) == nil)
    #expect(waiting.whoHears(Self.channel(.wantsIn, .alone)) == nil)
    #expect(waiting.whoHears(Self.channel(.present, nil)) != nil)
  }

  // MARK: The command join

  @Test func `join waits until a member lets us in`() throws {
    let (node, fixture, _) = try make()
    let program = try fixture.program(["join"], input: .text(Sample.invite))
    #expect(fixture.node.wait { $0.requests.contains(.channelShow(Sample.crew)) })
    #expect(program.output == "")
    node.show(Self.channel(.present, nil))
    #expect(program.end() == 0)
    #expect(program.output == "joined crew\n")
    #expect(program.errors == "Here: ben\n")
  }

  @Test func `join need not wait`() throws {
    let (_, fixture, _) = try make()
    let program = try fixture.program(["join", "--no-wait"], input: .text(Sample.invite))
    #expect(program.end() == 0)
    #expect(program.output == "joining crew\n")
  }
}
