import FoundationEssentials
import TalkCore
import TalkNet

/// One line per change of state, on standard error or in a file. Secrets never come here. Text of
/// others stands in quotes (`quoted`) with its own quotes escaped, so that a name can't end them:
/// no peer's text has the form of a line of ours. How many lines come is bounded.
package enum Log {
  private static let lock = Lock()
  private nonisolated(unsafe) static var gate = LogGate()
  private nonisolated(unsafe) static var file = LogFile.standardError
  private nonisolated(unsafe) static var limit = LogLevel.info

  /// Says where lines go and which: for the whole process.
  static func configure(
    level: LogLevel, file path: String?, takesStandardError: Bool
  ) throws(NodeServiceError) {
    let opened: LogFile
    if let path {
      opened = try LogFile.open(path, takesStandardError: takesStandardError)
    } else {
      opened = .standardError
    }
    lock.withLock {
      unsafe limit = level
      unsafe file = opened
    }
  }

  /// Writes a line of what changed, or of another level.
  static func line(_ text: String, _ level: LogLevel = .info) {
    lock.withLock {
      guard unsafe level <= limit, let leftOut = unsafe gate.admit(at: BootClock.now()) else {
        return
      }
      let stamp = unsafe file.path == nil ? "" : time()
      if leftOut > 0 {
        unsafe file.write(Array("\(stamp)talkaround: \(leftOut) lines were left out\n".utf8))
      }
      unsafe file.write(Array("\(stamp)talkaround: \(SafeText.escaped(text))\n".utf8))
    }
  }

  /// Writes a line of what is broken.
  static func error(_ text: String) { line(text, .error) }

  /// Text that came from elsewhere, as it stands in a line.
  static func quoted(_ text: String) -> String {
    let cut = SafeText.cut(text, to: 64).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\"\(SafeText.escaped(cut))\""
  }

  /// The wall clock's time, for files; journald has its own.
  private static func time() -> String {
    Date().formatted(.iso8601) + " "
  }
}
