import TalkKit

/// The help, made from the table of commands.
struct HelpText {
  let commands: [Command]

  /// Help for the commands whose words begin with `words`: one in full, several as a list.
  func text(for words: [String]) -> String {
    if let command = commands.first(where: { $0.words == words }), !words.isEmpty {
      return full(command)
    }
    let matching = commands.filter { !$0.words.isEmpty && $0.words.starts(with: words) }
    let left = matching.map { "\($0.name)\($0.argument.text)" }
    let head =
      words.isEmpty
      ? [
        "talkaround: push to talk on your own network, without a server", "",
        "Usage: talkaround [COMMAND] [OPTIONS]; without a command, the screen of the node.",
        "",
      ] : ["Usage: talkaround \(words.joined(separator: " ")) COMMAND [OPTIONS]", ""]
    let foot = [
      "", "Options everywhere:",
      table(ArgumentParser.globalOptions.map { (Self.heading($0), $0.help) }), "",
    ]
    let exitCodes = [
      "'talkaround COMMAND --help' says more. Exit codes: 64 usage; 69 no node, taken port,",
      "unheard, no microphone; 74 output not written; 75 busy or second copy; 77 permissions;",
      "78 profile, identity or state file.",
    ]
    let more = ["'talkaround \(words.joined(separator: " ")) COMMAND --help' says more."]
    let list = table(zip(left, matching.map(\.summary)).map { ($0, $1) })
    return (head + ["Commands:", list] + foot + (words.isEmpty ? exitCodes : more)).joined(
      separator: "\n")
  }

  private func full(_ command: Command) -> String {
    let options = command.options.isEmpty ? "" : " [OPTIONS]"
    var lines = [
      "Usage: talkaround \(command.name)\(command.argument.text)\(options)", "",
      command.summary.prefix(1).uppercased() + command.summary.dropFirst() + ".",
    ]
    let inner = commands.filter {
      $0.words.count > command.words.count && $0.words.starts(with: command.words)
    }
    if !inner.isEmpty {
      let rows = inner.map { ("\($0.name)\($0.argument.text)", $0.summary) }
      lines += ["", "Commands:", table(rows)]
    }
    if !command.notes.isEmpty { lines += [""] + command.notes }
    let all = command.options + ArgumentParser.globalOptions
    lines += ["", "Options:", table(all.map { (Self.heading($0), $0.help) })]
    return lines.joined(separator: "\n")
  }

  private static func heading(_ option: Option) -> String {
    option.name + (option.value.map { " \($0)" } ?? "")
  }

  private func table(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { left, right in
      "  \(left)\(String(repeating: " ", count: width - left.count + 2))\(right)"
    }.joined(separator: "\n")
  }
}
