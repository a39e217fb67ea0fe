/// What a key of a profile may be set to.
package enum ProfileValue: Hashable, Sendable {
  /// Nothing: the node decides. Written `null`.
  case none
  /// Yes or no.
  case bool(Bool)
  /// A whole number.
  case integer(Int)
  /// A text.
  case text(String)
  /// Several texts.
  case texts([String])

  /// The value as JSON5 writes it.
  package var written: String {
    switch self {
    case .none: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .text(let text): Self.quoted(text)
    case .texts(let texts): "[\(texts.map(Self.quoted).joined(separator: ", "))]"
    }
  }

  private static func quoted(_ text: String) -> String {
    String(decoding: JSONLine.encode(text), as: UTF8.self)
  }
}

/// Which values a key takes, in a form from which both the check and the reference follow.
enum ProfileType: Sendable {
  /// Yes or no.
  case bool
  /// A whole number in a range; null too where that is allowed.
  case integer(ClosedRange<Int>, orNull: Bool = false)
  /// One of a closed list of words.
  case word([String])
  /// Any number of words of a closed list, each once.
  case words([String])
  /// A text that `check` accepts; `form` describes it to people.
  case text(form: String, orNull: Bool = false, check: @Sendable (String) -> String?)
  /// Texts, at most `limit`, each of which `check` accepts.
  case texts(form: String, limit: Int, check: @Sendable (String) -> String?)

  /// The values for the reference and for messages.
  var description: String {
    switch self {
    case .bool: "true or false"
    case .integer(let range, let orNull):
      "a whole number from \(range.lowerBound) to \(range.upperBound)" + (orNull ? ", or null" : "")
    case .word(let words): "one of " + Self.list(words)
    case .words(let words): "a list of any of " + Self.list(words)
    case .text(let form, let orNull, _): form + (orNull ? ", or null" : "")
    case .texts(let form, let limit, _): "a list of at most \(limit) texts, each \(form)"
    }
  }

  private static func list(_ words: [String]) -> String {
    words.map { "\"\($0)\"" }.joined(separator: ", ")
  }

  /// Reads a value, or says what is wrong with it and where; nothing of it is guessed.
  func read(_ node: JSON5Node) -> Result<ProfileValue, Wrong> {
    switch (self, node.value) {
    case (.bool, .bool(let value)): return .success(.bool(value))
    case (.integer(_, true), .null), (.text(_, true, _), .null): return .success(.none)
    case (.integer(let range, _), .number(let number, _)):
      guard let value = Int(exactly: number), range.contains(value) else { break }
      return .success(.integer(value))
    case (.word(let words), .text(let text)):
      if words.contains(text) { return .success(.text(text)) }
      let hint = NearestName.hint(text, among: words)
      return .failure(Wrong(node, "\(quoted(text)) is unknown; it must be \(description)\(hint)"))
    case (.text(_, _, let check), .text(let text)):
      if let why = check(text) { return .failure(Wrong(node, "\(quoted(text)) \(why)")) }
      return .success(.text(text))
    case (.words, .list(let nodes)), (.texts, .list(let nodes)): return readList(nodes, node)
    default: break
    }
    return .failure(Wrong(node, "it must be \(description), not \(node.kind)"))
  }

  /// What is wrong with a value, and where that stands.
  struct Wrong: Error {
    let position: TextPosition
    let message: String

    init(_ node: JSON5Node, _ message: String) {
      position = node.position
      self.message = message
    }
  }

  private func readList(_ nodes: [JSON5Node], _ whole: JSON5Node) -> Result<ProfileValue, Wrong> {
    var texts: [String] = []
    for node in nodes {
      guard case .text(let text) = node.value else {
        return .failure(Wrong(node, "a text must stand here, not \(node.kind)"))
      }
      if texts.contains(text) { return .failure(Wrong(node, "\(quoted(text)) is there twice")) }
      switch self {
      case .words(let words) where !words.contains(text):
        let hint = NearestName.hint(text, among: words)
        let why = "\(quoted(text)) is unknown; it must be one of \(Self.list(words))\(hint)"
        return .failure(Wrong(node, why))
      case .texts(_, let limit, let check):
        if let why = check(text) { return .failure(Wrong(node, "\(quoted(text)) \(why)")) }
        guard texts.count < limit else {
          return .failure(Wrong(node, "one text too many; it must be \(description)"))
        }
      default: break
      }
      texts.append(text)
    }
    return .success(.texts(texts))
  }

  private func quoted(_ text: String) -> String {
    ProfileValue.text(String(text.prefix(64))).written
  }
}
