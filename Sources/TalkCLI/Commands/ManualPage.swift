import TalkKit

/// The manual page, made from the table of commands, in the macros of man(7).
struct ManualPage {
  let commands: [Command]

  /// The page, without a last line break.
  var text: String {
    ([Self.title] + opening + commandSections + closing).joined(separator: "\n")
  }

  /// The date is left to whoever makes the package.
  private static let title =
    #".TH TALKAROUND 1 "" "talkaround \#(TalkaroundVersion.text)""#
    + #" "User Commands""#

  private var opening: [String] {
    [
      ".SH NAME", #"talkaround \- push to talk on your own network, without a server"#,
      ".SH SYNOPSIS", ".B talkaround", #"[\fICOMMAND\fR] [\fIOPTIONS\fR]"#,
      ".SH DESCRIPTION",
    ]
      + Self.lines([
        "Laptops on a network find one another, form encrypted channels, agree among themselves",
        "who may speak, so that one person talks at a time, and carry the voice.",
        "There is no server.",
      ]) + [".PP"]
      + Self.lines([
        "Each laptop runs a node. Without a command, talkaround shows the node's screen, and",
        "starts it in the background where none runs. The other commands ask the node, over a",
        "socket that only its user can reach.",
      ])
  }

  private var commandSections: [String] {
    let named = commands.filter { !$0.words.isEmpty }
    return [".SH COMMANDS"] + named.flatMap(entry) + [".SH OPTIONS"]
      + Self.lines(["Every command takes these:"])
      + ArgumentParser.globalOptions.flatMap(option)
  }

  private func entry(_ command: Command) -> [String] {
    var lines = [".TP", ".B " + Self.escaped(command.name)]
    if !command.argument.text.isEmpty {
      lines[1] = #".BI "\#(Self.escaped(command.name)) " "\#(Self.escaped(argument(command)))""#
    }
    lines += Self.lines([Self.sentence(command.summary)] + command.notes)
    guard !command.options.isEmpty else { return lines }
    return lines + [".RS"] + command.options.flatMap(option) + [".RE"]
  }

  private func argument(_ command: Command) -> String {
    String(command.argument.text.drop { $0 == " " })
  }

  private func option(_ option: Option) -> [String] {
    let name = Self.escaped(option.name)
    let heading = option.value.map { #".BI "\#(name) " "\#(Self.escaped($0))""# } ?? ".B \(name)"
    return [".TP", heading] + Self.lines([option.help + "."])
  }

  private var closing: [String] {
    [".SH EXIT STATUS"]
      + Self.list([
        ("0", "Done."), ("64", "The command line is wrong."),
        (
          "69",
          "No node runs, the port is taken, nobody heard it, or there is no microphone."
        ), ("75", "Somebody else speaks, or a second copy would use the same state."),
        ("77", "The system does not let us."), ("78", "A state file cannot be used."),
      ]) + [".SH ENVIRONMENT"]
      + Self.list([
        (
          "XDG_DATA_HOME", "Where state is kept, in the folder talkaround; ~/.local/share if unset."
        ),
        ("XDG_RUNTIME_DIR", "Where the control socket is, in the folder talkaround."),
        ("PULSE_SERVER", "Which sound server is used."),
      ]) + [".SH FILES"]
      + Self.list([
        (
          "~/.local/share/talkaround",
          "Your identity and each channel's secret. Whoever has them is you. Removing or purging "
            + "the package leaves them; delete the folder to be rid of them."
        ),
        (
          "/usr/lib/systemd/user/talkaround.service",
          "The background node, started from now on by: talkaround start --at-login"
        ),
        ("UDP port 41717", "The one port that a firewall must let in."),
      ]) + [".SH EXAMPLES"]
      + Self.list([
        ("talkaround run", "The node with its screen; SPACE talks."),
        ("talkaround channel create crew", "Makes a channel."),
        ("talkaround invite | ssh ben-laptop talkaround join", "Lets somebody in."),
        ("talkaround talk --file hello.wav", "Speaks a file."),
      ]) + [".SH SEE ALSO", ".BR pulseaudio (1),", ".BR avahi\\-daemon (8)"]
  }

  private static func list(_ rows: [(String, String)]) -> [String] {
    rows.flatMap { [".TP", ".B " + escaped($0.0)] + lines([$0.1]) }
  }

  /// With a capital and a full stop.
  private static func sentence(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst() + "."
  }

  /// Lines of text that cannot be taken for macros.
  private static func lines(_ texts: [String]) -> [String] {
    texts.map { text in
      let line = escaped(String(text.drop { $0 == " " }))
      return line.hasPrefix(".") || line.hasPrefix("'") ? #"\&"# + line : line
    }
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "\\": escaped += #"\e"#
      case "-": escaped += #"\-"#
      case "\"": escaped += #"\(dq"#
      case "'": escaped += #"\(aq"#
      case "~": escaped += #"\(ti"#
      case "^": escaped += #"\(ha"#
      default: escaped.append(character)
      }
    }
    return escaped
  }
}
