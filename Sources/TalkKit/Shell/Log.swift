import Foundation
import TalkCore

/// One line per change of state on standard error; text of others is escaped, secrets never come
/// here.
enum Log {
  /// Writes a line.
  static func line(_ text: String) {
    let line = "talkaround: " + SafeText.escaped(text) + "\n"
    FileHandle.standardError.write(Data(line.utf8))
  }
}
