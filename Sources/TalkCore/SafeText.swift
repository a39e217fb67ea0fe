/// What may be shown of text that came from elsewhere, and how long names may be.
public enum SafeText {
  /// The most bytes of UTF-8 in a nickname or a channel's name on the wire (session.md).
  public static let nameLimit = 32

  /// `text` cut to `limit` bytes of UTF-8 at the end of a whole character.
  public static func cut(_ text: String, to limit: Int = nameLimit) -> String {
    var result = ""
    var used = 0
    for character in text {
      used += character.utf8.count
      guard used <= limit else { break }
      result.append(character)
    }
    return result
  }

  /// `text` with everything escaped that could move a cursor, hide, or turn the line around:
  /// control characters, line and paragraph separators, format characters, private use and
  /// unassigned scalars become `\u{…}`.
  public static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
        .paragraphSeparator:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default:
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A name as we may adopt it for ourselves or a channel: trimmed of blanks, cut to the limit;
  /// nil when nothing visible is left (U+00A0, U+2800, zero-width characters and the like).
  public static func name(_ text: String) -> String? {
    let visible = text.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
        .paragraphSeparator:
        false
      default: true
      }
    }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: visible)
    var name = Substring(String(view))
    func blank(_ character: Character) -> Bool {
      character.isWhitespace || character == "\u{2800}" || character == "\u{3164}"
    }
    name = name.drop(while: blank)
    while let last = name.last, blank(last) { name.removeLast() }
    let result = cut(String(name))
    return result.isEmpty ? nil : result
  }
}
