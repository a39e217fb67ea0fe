/// Reads JSON5 (spec.json5.org) and keeps where everything stands, which Foundation's JSONDecoder
/// does not. Call `read` once. Whatever the text holds, it ends in a tree or in one problem.
struct JSON5Reader {
  /// The most bytes of a profile.
  static let sizeLimit = 64 * 1_024
  /// How deep objects and lists may nest; a profile needs three.
  static let depthLimit = 8

  let file: String
  private let scalars: [Unicode.Scalar]
  private var index = 0
  private var position = TextPosition(line: 1, column: 1)
  private var depth = 0

  /// Reads the text of `file`.
  static func read(_ text: String, file: String) throws(ProfileProblem) -> JSON5Node {
    var reader = JSON5Reader(text, file: file)
    try reader.skipBlanks()
    let node = try reader.value()
    try reader.skipBlanks()
    guard reader.peek == nil else { throw reader.problem("nothing may follow the closing '}'") }
    return node
  }

  private init(_ text: String, file: String) {
    self.file = file
    scalars = Array(text.unicodeScalars)
    // A byte order mark is a blank in JSON5, and takes no column in an editor.
    if scalars.first == "\u{feff}" { index = 1 }
  }

  // MARK: Letters

  private var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  private mutating func advance() {
    let scalar = scalars[index]
    index += 1
    // CR LF is one line end.
    let isEnd = isLineEnd(scalar) && !(scalar == "\r" && peek == "\n")
    position = TextPosition(
      line: position.line + (isEnd ? 1 : 0), column: isEnd ? 1 : position.column + 1)
  }

  private func problem(_ message: String, at place: TextPosition? = nil) -> ProfileProblem {
    ProfileProblem(file: file, position: place ?? position, message: message)
  }

  /// What stands here, for messages.
  private var here: String {
    guard let scalar = peek else { return "the end of the file" }
    let isPlain = scalar.isASCII && scalar.value > 0x20 && scalar.value < 0x7f
    return isPlain ? "'\(scalar)'" : "U+\(String(scalar.value, radix: 16, uppercase: true))"
  }

  private func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
    ["\n", "\r", "\u{2028}", "\u{2029}"].contains(scalar)
  }

  private func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    isLineEnd(scalar) || ["\t", "\u{b}", "\u{c}", " ", "\u{a0}", "\u{feff}"].contains(scalar)
      || scalar.properties.generalCategory == .spaceSeparator
  }

  private mutating func skipBlanks() throws(ProfileProblem) {
    while let scalar = peek {
      if isBlank(scalar) {
        advance()
      } else if scalar == "/" {
        try skipComment()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() throws(ProfileProblem) {
    let start = position
    advance()
    switch peek {
    case "/":
      while let scalar = peek, !isLineEnd(scalar) { advance() }
    case "*":
      advance()
      var last: Unicode.Scalar = " "
      while let scalar = peek {
        advance()
        if last == "*", scalar == "/" { return }
        last = scalar
      }
      throw problem("this comment never ends; close it with */", at: start)
    default: throw problem("'/' begins no value; a comment begins with // or /*", at: start)
    }
  }

  // MARK: Values

  private mutating func value() throws(ProfileProblem) -> JSON5Node {
    let start = position
    func node(_ value: JSON5Node.Value) -> JSON5Node { JSON5Node(position: start, value: value) }
    switch peek {
    case "{": return node(.object(try object()))
    case "[": return node(.list(try list()))
    case "\"", "'": return node(.text(try string()))
    case nil: throw problem("the file ends where a value should be")
    default: break
    }
    let word = takeWord()
    switch word {
    case "true": return node(.bool(true))
    case "false": return node(.bool(false))
    case "null": return node(.null)
    case "": throw problem("\(here) is no value; put texts into quotes")
    default: break
    }
    if let number = JSON5Number.parse(word) { return node(.number(number, written: word)) }
    let shown = word.prefix(32)
    throw problem("\(shown) is no value; put texts into quotes: \"\(shown)\"", at: start)
  }

  /// The letters up to the next sign of the language.
  private mutating func takeWord() -> String {
    var word = String.UnicodeScalarView()
    while let scalar = peek, !isBlank(scalar), !",:[]{}\"'/".unicodeScalars.contains(scalar) {
      word.append(scalar)
      advance()
    }
    return String(word)
  }

  private mutating func enter() throws(ProfileProblem) {
    depth += 1
    guard depth <= Self.depthLimit else {
      throw problem("nested deeper than \(Self.depthLimit); a profile is one object")
    }
    advance()
  }

  private mutating func leave() {
    depth -= 1
    advance()
  }

  private mutating func object() throws(ProfileProblem) -> [JSON5Node.Member] {
    let start = position
    try enter()
    var members: [JSON5Node.Member] = []
    while true {
      try skipBlanks()
      if peek == "}" {
        leave()
        return members
      }
      guard peek != nil else { throw problem("this '{' is never closed", at: start) }
      let place = position
      let name = try name()
      try skipBlanks()
      guard peek == ":" else { throw problem("a ':' must follow '\(name)', not \(here)") }
      advance()
      try skipBlanks()
      members.append(JSON5Node.Member(name: name, position: place, node: try value()))
      try takeComma(before: "}")
    }
  }

  private mutating func list() throws(ProfileProblem) -> [JSON5Node] {
    let start = position
    try enter()
    var nodes: [JSON5Node] = []
    while true {
      try skipBlanks()
      if peek == "]" {
        leave()
        return nodes
      }
      guard peek != nil else { throw problem("this '[' is never closed", at: start) }
      nodes.append(try value())
      try takeComma(before: "]")
    }
  }

  /// Takes a comma, which may be missing before the end alone.
  private mutating func takeComma(before end: Unicode.Scalar) throws(ProfileProblem) {
    try skipBlanks()
    if peek == "," {
      advance()
    } else if let scalar = peek, scalar != end {
      throw problem("a ',' or '\(end)' must stand here, not \(here)")
    }
  }

  // MARK: Names and texts

  private mutating func name() throws(ProfileProblem) -> String {
    if peek == "\"" || peek == "'" { return try string() }
    let start = position
    let word = takeWord()
    let isName = word.unicodeScalars.enumerated().allSatisfy { index, scalar in
      scalar == "_" || scalar == "$" || scalar.properties.isAlphabetic
        || (index > 0 && scalar.properties.numericType != nil)
    }
    guard !word.isEmpty, isName else {
      let what = word.isEmpty ? here : "'\(word.prefix(32))'"
      throw problem("\(what) is no name of a key; put other names into quotes", at: start)
    }
    return word
  }

  private mutating func string() throws(ProfileProblem) -> String {
    let start = position
    let quote = peek
    advance()
    var text = String.UnicodeScalarView()
    while let scalar = peek {
      switch scalar {
      case quote:
        advance()
        return String(text)
      case "\n", "\r": throw problem("this text has no closing quote on its line", at: start)
      case "\\":
        advance()
        if let meant = try escape() { text.append(meant) }
      default:
        guard scalar.value >= 0x20 || scalar == "\t" else {
          throw problem("\(here) may not stand in a text")
        }
        text.append(scalar)
        advance()
      }
    }
    throw problem("this text has no closing quote", at: start)
  }

  /// What stands behind a backslash; nil for the end of a line, which goes on on the next.
  private mutating func escape() throws(ProfileProblem) -> Unicode.Scalar? {
    let start = position
    guard let scalar = peek else { throw problem("the file ends in a text") }
    advance()
    switch scalar {
    case "b": return "\u{8}"
    case "f": return "\u{c}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "v": return "\u{b}"
    case "x": return try hexScalar(digits: 2, start)
    case "u": return try hexScalar(digits: 4, start)
    case "0"..."9":
      throw problem("\\\(scalar) means no letter; write \\x and two digits", at: start)
    case "\r":
      if peek == "\n" { advance() }
      return nil
    case "\n", "\u{2028}", "\u{2029}": return nil
    default: return scalar
    }
  }

  private mutating func hexScalar(
    digits: Int, _ start: TextPosition
  ) throws(ProfileProblem) -> Unicode.Scalar {
    let first = try hexNumber(digits, start)
    if let scalar = Unicode.Scalar(first) { return scalar }
    // The first half of a pair of UTF-16; the other half must follow.
    if first < 0xdc00, peek == "\\" {
      advance()
      if peek == "u" {
        advance()
        let second = try hexNumber(4, start)
        if (0xdc00...0xdfff).contains(second) {
          let whole = 0x10000 + (first - 0xd800) << 10 + (second - 0xdc00)
          if let scalar = Unicode.Scalar(whole) { return scalar }
        }
      }
    }
    throw problem("\\u\(String(first, radix: 16)) is half a letter", at: start)
  }

  private mutating func hexNumber(
    _ digits: Int, _ start: TextPosition
  ) throws(ProfileProblem) -> UInt32 {
    var number: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = peek.flatMap({ $0.isASCII ? Character($0).hexDigitValue : nil }) else {
        throw problem("\(digits) hexadecimal digits must follow here", at: start)
      }
      number = number << 4 | UInt32(digit)
      advance()
    }
    return number
  }
}

/// Numbers as JSON5 writes them (section 6).
enum JSON5Number {
  /// The value; nil for a word that is no number.
  static func parse(_ word: String) -> Double? {
    var rest = Substring(word)
    var sign = 1.0
    if let first = rest.first, first == "-" || first == "+" {
      sign = first == "-" ? -1 : 1
      rest = rest.dropFirst()
    }
    switch rest {
    case "Infinity": return sign * .infinity
    case "NaN": return .nan
    default: break
    }
    if rest.lowercased().hasPrefix("0x") {
      let digits = rest.dropFirst(2)
      guard !digits.isEmpty, digits.utf8.count <= 16, digits.allSatisfy(\.isHexDigit),
        let value = UInt64(digits, radix: 16)
      else { return nil }
      return sign * Double(value)
    }
    guard isDecimal(rest) else { return nil }
    return Double(rest.hasPrefix(".") ? "0\(rest)" : String(rest)).map { sign * $0 }
  }

  private static func isDecimal(_ text: Substring) -> Bool {
    let parts = text.split(
      maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: { $0 == "e" || $0 == "E" })
    let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    func digits(_ text: Substring) -> Bool { text.utf8.allSatisfy { (48...57).contains($0) } }
    guard mantissa.count <= 2, mantissa.allSatisfy(digits),
      mantissa.contains(where: { !$0.isEmpty })
    else { return false }
    // No number of several digits begins with 0, as some languages read those as octal.
    guard mantissa[0].count <= 1 || mantissa[0].first != "0" else { return false }
    guard parts.count == 2 else { return true }
    let exponent = parts[1].drop { $0 == "+" || $0 == "-" }
    return !exponent.isEmpty && parts[1].count - exponent.count <= 1 && digits(exponent)
  }
}
