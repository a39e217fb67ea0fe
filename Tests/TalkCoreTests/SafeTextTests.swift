import TalkCore
import Testing

/// Names and texts that other people, or odd programs, made.
@Suite struct SafeTextTests {
  struct Name: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let name: String?

    static let all = [
      Name(testDescription: "plain", text: "anna", name: "anna"),
      Name(testDescription: "blanks around", text: " \t anna b \u{a0}\n", name: "anna b"),
      Name(testDescription: "empty", text: "", name: nil),
      Name(testDescription: "spaces", text: "    ", name: nil),
      Name(testDescription: "no-break and Braille blanks", text: "\u{a0}\u{2800}", name: nil),
      Name(testDescription: "zero width alone", text: "\u{200b}\u{200d}\u{feff}", name: nil),
      Name(testDescription: "zero width within", text: "ad\u{200b}min", name: "admin"),
      Name(testDescription: "right to left", text: "\u{202e}anna\u{200f}", name: "anna"),
      Name(testDescription: "NUL", text: "an\0na", name: "anna"),
      Name(testDescription: "newline", text: "anna\nSECURITY: x", name: "annaSECURITY: x"),
      Name(testDescription: "line separator", text: "a\u{2028}b", name: "ab"),
      Name(testDescription: "escape sequence", text: "\u{1b}[31mred\u{1b}[0m", name: "[31mred[0m"),
      Name(testDescription: "brackets", text: "[[[", name: "[[["),
      Name(
        testDescription: "300 bytes", text: String(repeating: "x", count: 300),
        name: String(repeating: "x", count: 32)),
      Name(
        testDescription: "40 é: cut between characters", text: String(repeating: "é", count: 40),
        name: String(repeating: "é", count: 16)),
      Name(
        testDescription: "20 emoji", text: String(repeating: "😀", count: 20),
        name: String(repeating: "😀", count: 8)),
      Name(
        testDescription: "a letter with too many marks to fit",
        text: "a" + String(repeating: "\u{301}", count: 40), name: nil),
      Name(testDescription: "private use", text: "\u{e000}a", name: "a"),
    ]
  }

  // A20, G2
  @Test(arguments: Name.all)
  func `a name is cut between characters and rid of what hides`(_ test: Name) {
    #expect(SafeText.name(test.text) == test.name)
    if let name = test.name {
      #expect(name.utf8.count <= SafeText.nameLimit)
      #expect(SafeText.escaped(name) == name)
    }
  }

  // G3
  @Test(arguments: Name.all)
  func `a text of others can move no cursor and turn no line`(_ test: Name) {
    let escaped = SafeText.escaped(test.text)
    #expect(
      escaped.unicodeScalars.allSatisfy { scalar in
        ![.control, .format, .lineSeparator, .paragraphSeparator, .privateUse].contains(
          scalar.properties.generalCategory)
      })
  }
}
