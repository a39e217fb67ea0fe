/// What the pure set may not name, each with what it uses instead.
enum Purity {
  /// A run of words and signs.
  struct Ban: Sendable {
    let tokens: [String]
    let instead: String

    init(_ tokens: String..., instead: String) {
      self.tokens = tokens
      self.instead = instead
    }
  }

  private static let time = "time is an argument (Instant)"
  private static let entropy = "entropy is an argument: EntropyPool, or bytes"
  private static let order = "its order differs from run to run: use OrderedTable"
  private static let shell = "the shell does that, at an effect"

  static let bans: [Ban] = [
    Ban("Task", instead: shell),
    Ban("Thread", instead: shell),
    Ban("Dispatch", instead: shell),
    Ban("DispatchQueue", instead: shell),
    Ban("ContinuousClock", instead: time),
    Ban("SuspendingClock", instead: time),
    Ban("Instant", ".", "now", instead: time),
    Ban("Date", instead: time),
    Ban("sleep", instead: "a deadline that the shell waits for"),
    Ban("usleep", instead: "a deadline that the shell waits for"),
    Ban("UUID", "(", ")", instead: entropy),
    Ban("SystemRandomNumberGenerator", instead: entropy),
    Ban("randombytes_buf", instead: entropy),
    Ban("randombytes", instead: entropy),
    Ban("getrandom", instead: entropy),
    Ban("Hasher", "(", instead: "its seed differs from run to run: BLAKE2b of TalkCrypto"),
    Ban("hashValue", instead: "it differs from run to run: BLAKE2b of TalkCrypto"),
    Ban("Set", "<", instead: order),
    Ban("Set", "(", instead: order),
    Ban("Dictionary", "<", instead: order),
    Ban("Dictionary", "(", instead: order),
    Ban("[", ":", "]", instead: order),
    Ban("print", "(", instead: shell),
  ]

  /// Calls that draw from a generator of the system's unless they are given one.
  private static let drawing = ["random", "shuffled", "shuffle", "randomElement"]
  /// Parts of libsodium that draw random bytes, or take their time.
  private static let sodium = ["keygen", "keypair", "pwhash"]

  /// Where a file of the pure set is impure.
  static func violations(in file: SourceFile) -> [Violation] {
    guard file.isSource, file.isSwift, ImportTable.pureTargets.contains(file.target)
    else { return [] }
    let tokens = file.tokens
    return tokens.indices.flatMap { index -> [Violation] in
      guard let message = complaint(tokens, at: index) else { return [] }
      return [Violation(file, tokens[index].line, message)]
    }
  }

  private static func complaint(_ tokens: [Token], at index: Int) -> String? {
    for ban in bans where begins(ban.tokens, tokens, index) {
      return "'\(ban.tokens.joined())' is not for the pure set; instead: \(ban.instead)"
    }
    if isImplicitNow(tokens, index) { return "'.now' is not for the pure set; instead: \(time)" }
    if isDictionaryType(tokens, index) { return "a dictionary is not for the pure set: \(order)" }
    if drawsByItself(tokens, index) {
      return "'\(tokens[index].text)' without 'using:' is not for the pure set; instead: \(entropy)"
    }
    let word = tokens[index].text
    // What takes a seed draws nothing.
    let draws = word.hasPrefix("crypto_") && sodium.contains { hasPart(word, $0) }
    if draws, !hasPart(word, "seed") {
      return "'\(word)' is not for the pure set; instead: \(entropy)"
    }
    return nil
  }

  private static func begins(_ ban: [String], _ tokens: [Token], _ index: Int) -> Bool {
    guard index + ban.count <= tokens.count else { return false }
    return ban.indices.allSatisfy { tokens[index + $0].text == ban[$0] }
  }

  /// `.now` alone is some clock's; `step.now` is the time that we were given.
  private static func isImplicitNow(_ tokens: [Token], _ index: Int) -> Bool {
    guard begins([".", "now"], tokens, index) else { return false }
    guard index > 0 else { return true }
    let before = tokens[index - 1]
    return !(before.isWord || [")", "]", "?", "!"].contains(before.text)) || before.text == "return"
  }

  /// `[Key: Value]`, as a type is written.
  private static func isDictionaryType(_ tokens: [Token], _ index: Int) -> Bool {
    guard tokens[index].text == "[", index + 1 < tokens.count, tokens[index + 1].isTypeName
    else { return false }
    var next = index + 2
    while next + 1 < tokens.count, tokens[next].text == "." { next += 2 }
    guard next + 1 < tokens.count, tokens[next].text == ":" else { return false }
    return tokens[next + 1].isTypeName || ["[", "("].contains(tokens[next + 1].text)
  }

  private static func drawsByItself(_ tokens: [Token], _ index: Int) -> Bool {
    guard drawing.contains(tokens[index].text), index > 0, tokens[index - 1].text == ".",
      index + 1 < tokens.count, tokens[index + 1].text == "("
    else { return false }
    var depth = 0
    for token in tokens[(index + 1)...] {
      if token.text == "(" { depth += 1 }
      if token.text == ")" { depth -= 1 }
      if token.text == "using" { return false }
      if depth == 0 { break }
    }
    return true
  }

  private static func hasPart(_ name: String, _ part: String) -> Bool {
    name.split(separator: "_").contains { $0 == part }
  }
}
