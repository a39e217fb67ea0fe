import Glibc
import TalkCore

/// One line per change of state on standard error; text of others is escaped, secrets never come
/// here.
enum Log {
  /// Writes a line.
  static func line(_ text: String) {
    let bytes = Array("talkaround: \(SafeText.escaped(text))\n".utf8)
    var used = 0
    while used < bytes.count {
      let put = unsafe bytes.withUnsafeBytes { buffer in
        unsafe write(STDERR_FILENO, buffer.baseAddress! + used, buffer.count - used)
      }
      if put < 0, errno == EINTR { continue }
      // A log that cannot be written is nobody's concern that a node could tell.
      guard put > 0 else { return }
      used += put
    }
  }
}
