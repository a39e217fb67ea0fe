import Glibc

/// The environment variables that a node reads (getenv(3)).
///
/// Foundation has them too, but Foundation brings 30 MB of language data with it, and a laptop's
/// package must stay small: TalkKit uses FoundationEssentials alone.
enum Environment {
  /// Those that say where state and sockets are.
  static var places: [String: String] {
    var values: [String: String] = [:]
    for name in ["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] { values[name] = value(name) }
    return values
  }

  /// The value of a variable.
  static func value(_ name: String) -> String? {
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe String(cString: text)
  }

  /// The computer's name (gethostname(2)).
  static var hostName: String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let failed = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe gethostname(buffer.baseAddress!.assumingMemoryBound(to: CChar.self), 255)
    }
    return failed == 0 ? String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) : ""
  }
}
