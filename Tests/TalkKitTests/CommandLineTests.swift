import Glibc
import TalkCore
import Testing

@testable import TalkCLI
@testable import TalkKit

@Suite struct CommandLineTests {
  static func parse(_ line: String) throws(CommandError) -> ArgumentParser.Outcome {
    try ArgumentParser(commands: CommandTable.commands).parse(
      line.split(separator: " ").map(String.init))
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    let line: String
    let message: String
    var testDescription: String { line }

    static let all = [
      Wrong(line: "chanel list", message: "no command is called 'chanel'; did you mean 'channel'?"),
      Wrong(
        line: "channel lst", message: "no command is called 'channel lst'; did you mean 'list'?"),
      Wrong(
        line: "frobnicate",
        message: "no command is called 'frobnicate'; 'talkaround --help' lists them"),
      Wrong(
        line: "channel",
        message: "'talkaround channel' needs one of: create, list, show, use, leave"),
      Wrong(line: "talk hodl", message: "no command is called 'talk hodl'; did you mean 'hold'?"),
      Wrong(line: "status --jsn", message: "no option is called '--jsn'; did you mean '--json'?"),
      Wrong(line: "status --json=1", message: "--json takes no value"),
      Wrong(line: "stop --json", message: "'talkaround stop' takes no --json"),
      Wrong(line: "run --port", message: "--port needs a value: --port N"),
      Wrong(line: "run --port 1 --port 2", message: "--port is given twice"),
      Wrong(line: "stop now", message: "'stop' takes no argument 'now'"),
      Wrong(
        line: "channel create", message: "'channel create' takes one argument, NAME; it got 0"),
      Wrong(line: "join a b", message: "'join' takes at most one argument, FILE"),
      Wrong(
        line: "chanel --help", message: "no command is called 'chanel'; did you mean 'channel'?"),
    ]
  }

  @Test(arguments: Wrong.all)
  func `a wrong command line names what is wrong and what was meant`(_ wrong: Wrong) {
    do throws(CommandError) {
      _ = try Self.parse(wrong.line)
      Issue.record("understood")
    } catch {
      #expect(error.message == wrong.message)
      #expect(error.exitCode == 64)
    }
  }

  @Test func `options may stand anywhere, with a blank or an equals sign`() throws {
    for line in ["--state /d talk hold", "talk --state=/d hold", "talk hold --state /d"] {
      guard case .run(let invocation) = try Self.parse(line) else {
        Issue.record("not run: \(line)")
        continue
      }
      #expect(invocation.command.name == "talk hold")
      #expect(invocation.state == "/d")
    }
    guard case .run(let invocation) = try Self.parse("channel create -- --crew") else {
      Issue.record("not run")
      return
    }
    #expect(invocation.argument == "--crew")
  }

  @Test func `every command has help that names its options`() throws {
    let help = HelpText(commands: CommandTable.commands)
    for command in CommandTable.commands where !command.words.isEmpty {
      let text = help.text(for: command.words)
      #expect(text.hasPrefix("Usage: talkaround \(command.name)"))
      for option in command.options { #expect(text.contains(option.name)) }
      #expect(help.text(for: []).contains("  \(command.name)") == !command.isHidden)
      guard case .help(command.words) = try Self.parse("\(command.name) --help") else {
        Issue.record("no help: \(command.name)")
        continue
      }
    }
    #expect(help.text(for: ["channel"]).contains("channel leave NAME"))
    #expect(!help.text(for: ["channel"]).contains("  members"))
    for reason in Reason.allCases {
      #expect(help.text(for: ["watch"]).contains("  \(reason.rawValue) "))
    }
    for text in CommandTable.commands.map({ help.text(for: $0.words) }) {
      for line in text.split(separator: "\n") { #expect(line.count <= 92, "\(line)") }
    }
  }

  static let context = Context(
    environment: [:], input: -1, output: -1, error: -1,
    makeNode: { _ throws(NodeServiceError) in throw .unavailable("none") })

  static func options(_ line: String) throws(CommandError) -> NodeOptions? {
    guard case .run(let invocation) = try parse("run \(line)") else { return nil }
    return try RunCommand.options(invocation, context)
  }

  @Test func `the options of run reach the node`() throws {
    #expect(try Self.options("") == NodeOptions(headless: true))
    let all = try Self.options(
      "--state /d --port 41717 --peer ben:1 --peer [fe80::1]:65535 --name anna --capture a.wav "
        + "--playback pulse:spk --no-avahi --no-hello --headless")
    #expect(
      all
        == NodeOptions(
          state: "/d", port: 41_717, staticPeers: ["ben:1", "[fe80::1]:65535"], nickname: "anna",
          capture: "a.wav", playback: "pulse:spk", avahi: false, hello: false, headless: true))
  }

  @Test(arguments: [
    "--port 0", "--port 65536", "--port x", "--peer ben", "--peer ben:0", "--peer :1",
    "--peer fe80::1:7", "--peer []:1", "--name \u{2800}", "--name \u{200b}", "--capture puls",
    "--capture pulse:", "--playback x.mp3",
  ])
  func `a bad option of run is refused by name`(_ line: String) {
    do throws(CommandError) {
      _ = try Self.options(line)
      Issue.record("taken")
    } catch {
      #expect(error.exitCode == 64)
      #expect(error.message.hasPrefix(String(line.split(separator: " ")[0])))
    }
  }

  @Test(arguments: [
    ("10s", 10), ("30m", 1_800), ("24h", 86_400), ("1d", 86_400), ("9s", nil), ("25h", nil),
    ("30", nil), ("m", nil), ("-5m", nil), ("9999999999999999999h", nil), ("", nil),
    ("9223372036854775807h", nil),
  ])
  func `times are read with their unit and bounds`(_ text: String, _ seconds: Int?) {
    #expect((try? InviteCommand.seconds(text)) == seconds)
  }

  @Test(arguments: [
    (Sample.invite, true), (Sample.invite.uppercased(), true), ("x=\(Sample.invite)", true),
    ("talk1", false), ("talk1.wav", false), ("talk1-notes-of-the-meeting-yesterday.txt", false),
    ("", false),
  ])
  func `an invite is known by its looks`(_ text: String, _ isInvite: Bool) {
    #expect(InviteInput.looksLikeInvite(text) == isInvite)
  }
}
