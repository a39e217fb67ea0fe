/// One option of a command, as the parser and the help see it.
struct Option: Sendable {
  /// With its dashes.
  let name: String
  /// What its value is called; nil for a switch.
  let value: String?
  /// One line for the help.
  let help: String
  /// True when it may be given more than once.
  let repeats: Bool

  init(_ name: String, _ value: String? = nil, repeats: Bool = false, help: String) {
    self.name = name
    self.value = value
    self.repeats = repeats
    self.help = help
  }
}

/// One command: what it is called, what it takes, and what it does.
struct Command: Sendable {
  typealias Body = @Sendable (Invocation, Context) throws(CommandError) -> Int32

  /// How many arguments besides options it takes.
  enum Argument: Sendable {
    case none
    case one(String)
    case optional(String)

    var text: String {
      switch self {
      case .none: ""
      case .one(let name): " \(name)"
      case .optional(let name): " [\(name)]"
      }
    }
  }

  /// Its words, such as `channel create`.
  let words: [String]
  let argument: Argument
  let options: [Option]
  /// One line for lists.
  let summary: String
  /// More, for its own help: whole lines.
  let notes: [String]
  /// True when lists leave it out: it is for those who work on the program.
  let isHidden: Bool
  let body: Body

  init(
    _ words: String, _ argument: Argument = .none, options: [Option] = [], summary: String,
    notes: [String] = [], isHidden: Bool = false, body: @escaping Body
  ) {
    self.words = words.split(separator: " ").map(String.init)
    self.argument = argument
    self.options = options
    self.summary = summary
    self.notes = notes
    self.isHidden = isHidden
    self.body = body
  }

  /// The words as one text.
  var name: String { words.joined(separator: " ") }
}

/// A command line that was understood.
struct Invocation: Sendable {
  let command: Command
  /// The values of each option that was given, in order; switches have an empty one.
  let values: [String: [String]]
  let argument: String?

  /// The value of an option, the last one if it was given more than once.
  func value(_ option: String) -> String? { values[option]?.last }

  /// True when a switch was given.
  func has(_ option: String) -> Bool { values[option] != nil }

  /// The state directory that was named.
  var state: String? { value("--state") }
}
