/// How long files, lines and functions may be, and what must be said about a symbol.
enum Shape {
  static let maxFileLines = 500
  static let maxColumns = 100
  static let maxFunctionLines = 60

  static func tooLong(_ file: SourceFile) -> [Violation] {
    // The last line ends the file; it is no line of its own.
    let count = file.lines.last == "" ? file.lines.count - 1 : file.lines.count
    guard count > maxFileLines else { return [] }
    return [
      Violation(
        file, count,
        "\(count) lines; at most \(maxFileLines): give a second type or aspect a file of its own")
    ]
  }

  static func tooWide(_ file: SourceFile) -> [Violation] {
    // Configurations of daemons have a format of their own.
    guard !file.path.contains("/etc/") else { return [] }
    return file.lines.enumerated().compactMap { index, line in
      guard line.utf8.count > maxColumns, line.count > maxColumns else { return nil }
      return Violation(file, index + 1, "\(line.count) columns; at most \(maxColumns): break it")
    }
  }

  static func longFunctions(_ file: SourceFile) -> [Violation] {
    guard file.isSwift else { return [] }
    let tokens = file.tokens
    return tokens.indices.compactMap { index in
      guard startsFunction(tokens, index), let body = body(tokens, after: index) else { return nil }
      let lines = tokens[body.upperBound].line - tokens[index].line + 1
      guard lines > maxFunctionLines else { return nil }
      return Violation(
        file, tokens[index].line,
        "a function of \(lines) lines; at most \(maxFunctionLines): name its steps")
    }
  }

  private static func startsFunction(_ tokens: [Token], _ index: Int) -> Bool {
    let isCall = index > 0 && tokens[index - 1].text == "."
    return !isCall && ["func", "init", "deinit"].contains(tokens[index].text)
  }

  /// From `{` to its `}`; a requirement of a protocol has none before the next declaration.
  private static func body(_ tokens: [Token], after start: Int) -> ClosedRange<Int>? {
    var round = 0
    for index in (start + 1)..<tokens.count {
      switch tokens[index].text {
      case "(", "[": round += 1
      case ")", "]": round -= 1
      case "{" where round == 0: return closing(tokens, index).map { index...$0 }
      case "}" where round == 0: return nil
      case "func", "init", "var", "let", "case": if round == 0 { return nil }
      default: break
      }
    }
    return nil
  }

  private static func closing(_ tokens: [Token], _ opening: Int) -> Int? {
    var depth = 0
    for index in opening..<tokens.count {
      if tokens[index].text == "{" { depth += 1 }
      if tokens[index].text == "}" { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }

  /// Symbols that other targets or users see, without a word about them.
  static func undocumented(_ file: SourceFile) -> [Violation] {
    guard file.isSource, file.isSwift else { return [] }
    return file.lines.indices.compactMap { index in
      guard isShown(file.lines[index]), !isDocumented(file.lines, index) else { return nil }
      return Violation(
        file, index + 1, "say with '///' what it is for: units, errors, source")
    }
  }

  private static let declarations = [
    "actor", "associatedtype", "class", "enum", "func", "init", "let", "protocol", "struct",
    "subscript", "typealias", "var",
  ]

  private static func isShown(_ line: Substring) -> Bool {
    let code = line.drop { $0 == " " }
    guard !code.hasPrefix("//"), code.contains("public ") || code.contains("package ") else {
      return false
    }
    let words = code.split { " (<:?".contains($0) }
    guard let access = words.firstIndex(where: { ["public", "package"].contains($0) }) else {
      return false
    }
    let isModifier = words[..<access].allSatisfy { $0.hasPrefix("@") || modifiers.contains($0) }
    return isModifier && words[access...].contains { declarations.contains(String($0)) }
      && !words.contains("override") && !words.contains("import")
  }

  private static let modifiers: [Substring] = ["final", "static", "indirect", "nonisolated"]

  private static func isDocumented(_ lines: [Substring], _ index: Int) -> Bool {
    var before = index - 1
    while before >= 0 {
      let line = lines[before].drop { $0 == " " }
      if line.hasPrefix("///") { return true }
      guard line.hasPrefix("@") || line.hasPrefix("#if") else { return false }
      before -= 1
    }
    return false
  }

  /// Work that was left for later: an issue holds that, the source does not.
  static func leftovers(_ file: SourceFile) -> [Violation] {
    guard file.isSource || file.path.hasPrefix("Tools/") else { return [] }
    let marks = ["TODO", "FIXME", "XXX:"]
    return file.lines.enumerated().compactMap { index, line in
      guard let mark = marks.first(where: { line.contains($0) }) else { return nil }
      return Violation(file, index + 1, "'\(mark)': do it, or file an issue and take it out")
    }
  }
}
