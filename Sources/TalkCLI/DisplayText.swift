import TalkCore

/// Texts from elsewhere as they may be shown on a terminal.
enum DisplayText {
  /// One line: whatever could move the cursor or turn the line around is escaped.
  static func line(_ text: String) -> String { SafeText.escaped(text) }

  /// A name with its length bounded.
  static func name(_ name: String) -> String { SafeText.escaped(SafeText.cut(name, to: 64)) }

  /// A name beside the first digits of the identity, which tell equal names apart.
  static func member(_ name: String, id: String) -> String {
    "\(self.name(name)) \(self.name(String(id.prefix(8))))"
  }

  /// Columns that `text` takes on a terminal: none for marks that combine, two for wide characters
  /// (Unicode TR 11: the blocks that are wide throughout, and emoji).
  static func columns(_ text: String) -> Int {
    text.reduce(0) { $0 + columns($1) }
  }

  /// `text` cut or filled with blanks to exactly `width` columns.
  static func fit(_ text: String, to width: Int) -> String {
    var result = ""
    var used = 0
    for character in text {
      let step = columns(character)
      guard used + step <= width else { break }
      result.append(character)
      used += step
    }
    return result + String(repeating: " ", count: max(0, width - used))
  }

  private static func columns(_ character: Character) -> Int {
    guard let scalar = character.unicodeScalars.first else { return 0 }
    if scalar.isASCII { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    let isEmoji =
      scalar.properties.isEmojiPresentation
      || character.unicodeScalars.contains { $0 == "\u{fe0f}" }
    let wide: [ClosedRange<UInt32>] = [
      0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
      0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1faff, 0x20000...0x3fffd,
    ]
    return isEmoji || wide.contains { $0.contains(scalar.value) } ? 2 : 1
  }
}
