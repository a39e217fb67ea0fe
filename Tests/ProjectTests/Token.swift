/// A word or a sign of Swift, with the line that it stands on.
struct Token: Sendable, Equatable {
  let text: String
  let line: Int

  /// A name or a number.
  var isWord: Bool { text.utf8.first.map(Token.isWordByte) ?? false }

  /// A name as types have it.
  var isTypeName: Bool { text.utf8.first.map { (65...90).contains($0) } ?? false }

  /// The words and signs of `source`; comments, and what stands within quotes, are left out.
  static func all(in source: String) -> [Token] {
    var scanner = Scanner(bytes: Array(source.utf8))
    return scanner.scan()
  }

  fileprivate static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 95, 97...122, 128...255: true
    default: false
    }
  }

  private struct Scanner {
    let bytes: [UInt8]
    var position = 0
    var line = 1
    var tokens: [Token] = []

    mutating func scan() -> [Token] {
      while position < bytes.count {
        if follows("//") {
          skip { $0 == 10 }
        } else if follows("/*") {
          skipBlockComment()
        } else if follows("\"\"\"") {
          skipString("\"\"\"")
        } else if follows("\"") {
          skipString("\"")
        } else if Token.isWordByte(bytes[position]) {
          takeWord()
        } else {
          takeSign()
        }
      }
      return tokens
    }

    private func follows(_ text: StaticString) -> Bool {
      guard position + text.utf8CodeUnitCount <= bytes.count else { return false }
      return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[position + $0] == text.utf8Start[$0] }
    }

    private mutating func advance(_ count: Int = 1) {
      for _ in 0..<count where position < bytes.count {
        if bytes[position] == 10 { line += 1 }
        position += 1
      }
    }

    private mutating func skip(until end: (UInt8) -> Bool) {
      while position < bytes.count, !end(bytes[position]) { advance() }
    }

    private mutating func skipBlockComment() {
      var depth = 0
      repeat {
        if follows("/*") {
          depth += 1
          advance(2)
        } else if follows("*/") {
          depth -= 1
          advance(2)
        } else {
          advance()
        }
      } while depth > 0 && position < bytes.count
    }

    private mutating func skipString(_ quote: StaticString) {
      advance(quote.utf8CodeUnitCount)
      while position < bytes.count, !follows(quote) {
        advance(bytes[position] == 92 ? 2 : 1)
      }
      advance(quote.utf8CodeUnitCount)
    }

    private mutating func takeWord() {
      let start = position
      while position < bytes.count, Token.isWordByte(bytes[position]) { position += 1 }
      let text = String(decoding: bytes[start..<position], as: UTF8.self)
      tokens.append(Token(text: text, line: line))
    }

    private mutating func takeSign() {
      let byte = bytes[position]
      if byte != 32, byte != 10, byte != 9, byte != 13 {
        tokens.append(Token(text: String(UnicodeScalar(byte)), line: line))
      }
      advance()
    }
  }
}
