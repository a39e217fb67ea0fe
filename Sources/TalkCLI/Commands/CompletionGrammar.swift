import TalkKit

/// What may come next on a command line, as the completion scripts need it.
struct CompletionGrammar {
  /// What a value or an argument may be.
  enum Value: Equatable {
    case files
    case directories
    /// These words, or a file where `orFile` is true.
    case words([String], orFile: Bool)
    /// Something that no shell can guess.
    case other

    /// By what the help calls it.
    init(named name: String) {
      switch name {
      case "DIR": self = .directories
      case "DEVICE": self = .words(["pulse", "null"], orFile: true)
      case "SHELL": self = .words(CompletionCommand.shells, orFile: false)
      case "LEVEL": self = .words(LogLevel.allCases.map(\.rawValue), orFile: false)
      case "WAV": self = .files
      default: self = name.contains("FILE") ? .files : .other
      }
    }

    var takesFile: Bool {
      switch self {
      case .files: true
      case .words(_, let orFile): orFile
      case .directories, .other: false
      }
    }

    var words: [String] {
      if case .words(let words, _) = self { return words }
      return []
    }
  }

  /// A word, and what it is.
  struct Choice {
    let word: String
    let meaning: String
  }

  /// A place on the command line: the words before it, without options.
  struct Place {
    let words: [String]
    /// The command words that may follow at once.
    let next: [Choice]
    let options: [Option]
    /// What the command's argument is; nil where it takes none.
    let argument: Value?

    var name: String { words.joined(separator: " ") }
  }

  let commands: [Command]

  /// Every place, those with most words first.
  var places: [Place] {
    var seen: Set<[String]> = []
    var places: [Place] = []
    for command in commands {
      for count in 0...command.words.count {
        let words = Array(command.words.prefix(count))
        if seen.insert(words).inserted { places.append(place(words)) }
      }
    }
    return places.enumerated()
      .sorted { ($1.element.words.count, $0.offset) < ($0.element.words.count, $1.offset) }
      .map(\.element)
  }

  /// Every option that takes a value, once, with what the value is.
  var valueOptions: [(name: String, value: Value)] {
    var found: [(name: String, value: Value)] = []
    for option in ArgumentParser.globalOptions + commands.flatMap(\.options) {
      guard let name = option.value, !found.contains(where: { $0.name == option.name }) else {
        continue
      }
      found.append((option.name, Value(named: name)))
    }
    return found
  }

  private func place(_ words: [String]) -> Place {
    var next: [Choice] = []
    for command in commands
    where command.words.count > words.count && command.words.starts(with: words) {
      let word = command.words[words.count]
      guard !next.contains(where: { $0.word == word }) else { continue }
      let isWhole = command.words.count == words.count + 1
      let group = commands.filter { $0.words.starts(with: words + [word]) }
      let meaning = isWhole ? command.summary : group.map { $0.words.last! }.joined(separator: ", ")
      next.append(Choice(word: word, meaning: meaning))
    }
    let own = commands.first { $0.words == words }
    let argument: Value? =
      switch own?.argument {
      case .one(let name), .optional(let name): Value(named: name)
      case .some(.none), nil: nil
      }
    return Place(
      words: words, next: next, options: (own?.options ?? []) + ArgumentParser.globalOptions,
      argument: argument)
  }
}
