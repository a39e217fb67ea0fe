/// Which module may import which: the table of the architecture, as a test. SwiftPM's own check
/// misses what comes along with another module.
enum ImportTable {
  /// Targets without input, output, clock and chance of their own, so that a run can be repeated.
  static let pureTargets = [
    "TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkFloor", "TalkMesh", "TalkVoice",
    "TalkNode", "TalkSim",
  ]

  private static let machines = ["TalkSession", "TalkFloor", "TalkMesh", "TalkVoice"]
  private static let base = ["TalkCore", "TalkCrypto", "TalkWire"]
  private static let edges = ["TalkNet", "TalkAudio", "TalkDiscovery", "TalkStore", "TalkKeys"]

  /// FoundationEssentials rather than Foundation, which brings 30 MB of language data into the
  /// statically linked program.
  ///
  /// What a target may import, besides the standard library. A target that is not here has no
  /// place in the architecture yet.
  static let allowed: [String: [String]] = [
    "TalkCore": [],
    "TalkCrypto": ["TalkCore", "CSodium"],
    "TalkWire": ["TalkCore"],
    "TalkSession": base,
    "TalkFloor": base,
    "TalkMesh": base,
    "TalkVoice": ["TalkCore", "TalkWire", "COpus", "CSpeexDSP", "CSonic"],
    "TalkNode": base + machines,
    "TalkSim": base + machines + ["TalkNode"],
    "TalkNet": ["TalkCore", "CLinux"] + system,
    "TalkAudio": ["TalkCore", "CPulse", "CSndfile", "CLinux"] + system,
    "TalkDiscovery": ["TalkCore", "TalkNet", "CAvahi"] + system,
    "TalkStore": ["TalkCore", "TalkCrypto", "CSQLite", "FoundationEssentials"] + system,
    "TalkKeys": ["TalkCore", "CLinux"] + system,
    // The phone leg is the session's handshake and transport; a clip is decoded voice.
    "TalkGateway": base + ["TalkSession", "TalkVoice", "TalkNet"]
      + ["CNGHTTP2", "COpenSSL", "CSQLite", "Foundation"] + system,
    "TalkPage": ["TalkCore", "CMicroHTTPD", "FoundationEssentials"] + system,
    "TalkKit": base + machines + ["TalkNode", "CLinux", "FoundationEssentials"] + edges + system,
    "TalkCLI": ["TalkCore", "TalkKit", "TalkSim", "FoundationEssentials"] + system,
  ]

  /// What an edge needs of the system itself: the C library, and atomics between threads.
  private static let system = ["Glibc", "Synchronization"]

  /// Files of the pure set that wrap what the rest of it may not see.
  static let exceptions: [String: [String]] = [
    "Sources/TalkCore/Platform.swift": ["Glibc", "Synchronization"],
    "Sources/TalkCore/SampleRing.swift": ["Synchronization"],
  ]

  /// The imports of a file that the table does not allow.
  static func violations(in file: SourceFile) -> [Violation] {
    guard file.isSource, file.isSwift else { return [] }
    guard let allowed = allowed[file.target] else {
      return [Violation(file, 1, "target \(file.target) has no row in ImportTable: add it there")]
    }
    let mayImport = allowed + exceptions[file.path, default: []] + ["Swift"]
    return imports(of: file).compactMap { module, line in
      guard !mayImport.contains(module) else { return nil }
      let choice = allowed.isEmpty ? "nothing" : allowed.joined(separator: ", ")
      return Violation(
        file, line, "\(file.target) may not import \(module); it may import: \(choice)")
    }
  }

  /// The modules that a file imports, with the lines.
  static func imports(of file: SourceFile) -> [(module: String, line: Int)] {
    let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
    let tokens = file.tokens
    return tokens.indices.compactMap { index in
      guard tokens[index].text == "import", index + 1 < tokens.count else { return nil }
      var name = tokens[index + 1]
      if kinds.contains(name.text), index + 2 < tokens.count { name = tokens[index + 2] }
      return (name.text, name.line)
    }
  }
}
