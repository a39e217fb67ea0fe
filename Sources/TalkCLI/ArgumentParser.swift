import TalkKit

/// Reads a command line by the table of commands.
struct ArgumentParser {
  let commands: [Command]

  /// What a command line asks for.
  enum Outcome {
    case run(Invocation)
    /// Help for the commands that begin with these words.
    case help([String])
    case version
  }

  static let globalOptions = [
    Option("--state", "DIR", help: "keep state, lock and control socket in DIR"),
    Option("--profile", "NAME|FILE", help: "settings for a node that this command starts"),
    Option("--help", help: "show this"),
    Option("--version", help: "show the version"),
  ]

  /// Understands `arguments` (without the program's name), or throws what is wrong with them. No
  /// error repeats an argument that looks like an invite.
  func parse(_ arguments: [String]) throws(CommandError) -> Outcome {
    try Self.refuseInvites(arguments)
    var words: [String] = []
    var values: [String: [String]] = [:]
    var optionsOver = false
    var rest = arguments[...]
    while let word = rest.popFirst() {
      if optionsOver || word == "-" || !word.hasPrefix("-") {
        words.append(word)
      } else if word == "--" {
        optionsOver = true
      } else {
        try take(word, &rest, &values)
      }
    }
    if values["--version"] != nil { return .version }
    if values["--help"] != nil { return .help(try helpWords(words)) }
    let (command, argument) = try resolve(words)
    try check(command, values)
    return .run(Invocation(command: command, values: values, argument: argument))
  }

  /// Takes one option, and its value where it has one. Which command it belongs to is checked
  /// later: an option may come before the command's words, and has one shape everywhere.
  private func take(
    _ word: String, _ rest: inout ArraySlice<String>, _ values: inout [String: [String]]
  ) throws(CommandError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = word == "-h" ? "--help" : String(parts[0])
    let known = Self.globalOptions + commands.flatMap(\.options)
    guard let option = known.first(where: { $0.name == name }) else {
      let hint = NearestName.hint(name, among: known.map(\.name))
      throw .usage("no option is called '\(name)'\(hint)")
    }
    var value = parts.count > 1 ? String(parts[1]) : nil
    if option.value == nil {
      guard value == nil else { throw .usage("\(name) takes no value") }
      value = ""
    } else if value == nil {
      value = rest.popFirst()
    }
    guard let value else { throw .usage("\(name) needs a value: \(name) \(option.value ?? "")") }
    // As from a script whose variable is not set; an empty text names nothing.
    guard option.value == nil || !value.isEmpty else {
      throw .usage("\(name) is given an empty text; it needs \(option.value ?? "a value")")
    }
    guard values[name] == nil || option.repeats else { throw .usage("\(name) is given twice") }
    values[name, default: []].append(value)
  }

  /// The command whose words come first, and the argument behind them.
  private func resolve(_ words: [String]) throws(CommandError) -> (Command, String?) {
    let matching = commands.filter { words.starts(with: $0.words) }
    guard let command = matching.max(by: { $0.words.count < $1.words.count }) else {
      throw unknown(words)
    }
    let arguments = words.dropFirst(command.words.count)
    // `channel` alone, or with a word that is none of its commands.
    let inner = commands.filter {
      $0.words.count == command.words.count + 1 && $0.words.starts(with: command.words)
    }
    switch command.argument {
    case .none:
      guard let extra = arguments.first else { break }
      guard inner.isEmpty else { throw unknown(words) }
      throw .usage("'\(command.name)' takes no argument '\(extra)'")
    case .one(let name):
      guard arguments.count == 1 else {
        throw .usage("'\(command.name)' takes one argument, \(name); it got \(arguments.count)")
      }
    case .optional(let name):
      guard arguments.count <= 1 else {
        throw .usage("'\(command.name)' takes at most one argument, \(name)")
      }
    }
    return (command, arguments.first)
  }

  /// The words whose help is wanted: a command's, without its arguments, or a group's.
  private func helpWords(_ words: [String]) throws(CommandError) -> [String] {
    if commands.contains(where: { $0.words.starts(with: words) }) { return words }
    let matching = commands.filter { !$0.words.isEmpty && words.starts(with: $0.words) }
    guard let command = matching.max(by: { $0.words.count < $1.words.count }) else {
      throw unknown(words)
    }
    return command.words
  }

  private func unknown(_ words: [String]) -> CommandError {
    // The longest beginning that is right, then the first word that is not.
    var right: [String] = []
    while right.count < words.count,
      commands.contains(where: {
        $0.words.count > right.count && $0.words.starts(with: right + [words[right.count]])
      })
    {
      right.append(words[right.count])
    }
    let candidates = commands.filter {
      $0.words.count > right.count && $0.words.starts(with: right)
    }
    .map { $0.words[right.count] }
    let prefix = (["talkaround"] + right).joined(separator: " ")
    guard right.count < words.count else {
      let list = candidates.joined(separator: ", ")
      return .usage("'\(prefix)' needs one of: \(list)")
    }
    let word = words[right.count]
    let whole = (right + [word]).joined(separator: " ")
    let hint = NearestName.hint(word, among: candidates)
    let cure = hint.isEmpty ? "; '\(prefix) --help' lists them" : hint
    return .usage("no command is called '\(whole)'\(cure)")
  }

  private func check(
    _ command: Command, _ values: [String: [String]]
  ) throws(CommandError) {
    let allowed = Self.globalOptions + command.options
    for name in values.keys.sorted() where !allowed.contains(where: { $0.name == name }) {
      throw .usage("'talkaround \(command.name)' takes no \(name)")
    }
  }

  /// Arguments can be read by every user of the computer, and shells keep them.
  private static func refuseInvites(_ arguments: [String]) throws(CommandError) {
    guard arguments.contains(where: InviteInput.looksLikeInvite) else { return }
    throw .usage(
      "an invite must not be an argument: other users can see it, and the shell keeps it; "
        + "paste it at the prompt of 'talkaround join' or pipe it in, and make a fresh one now")
  }
}
