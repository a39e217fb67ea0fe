import Foundation

/// One file of the project, as its rules see it.
struct SourceFile: Sendable {
  /// From the top of the project: "Sources/TalkCore/Instant.swift".
  let path: String
  /// The text, line by line.
  let lines: [Substring]

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The target: the folder below Sources or Tests.
  var target: String {
    let parts = path.split(separator: "/")
    return parts.count > 2 ? String(parts[1]) : ""
  }

  /// The last part of the path.
  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  /// Whether the file belongs to a target of Sources.
  var isSource: Bool { path.hasPrefix("Sources/") }

  /// Whether it is Swift.
  var isSwift: Bool { path.hasSuffix(".swift") }

  /// The text without comments and strings, as words and signs.
  var tokens: [Token] { Token.all(in: lines.joined(separator: "\n")) }
}

/// The project's own files, read from disk.
enum SourceTree {
  /// The top of the project, found from where this file lies.
  static let top = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every text file that people write: Swift, C, scripts. (Data and fixtures are not.)
  static let files: [SourceFile] = ["Sources", "Tests", "Tools"].flatMap(filesBelow) + [package]

  /// What lies at the top, hidden files aside.
  static func topLevelNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: top.path)
      .filter { !$0.hasPrefix(".") }
      .sorted()
  }

  private static var package: SourceFile { read("Package.swift") }

  private static func filesBelow(_ folder: String) -> [SourceFile] {
    let paths = FileManager.default.enumerator(atPath: top.appending(path: folder).path)
    let names = (paths?.allObjects as? [String] ?? []).sorted()
    return names.map { "\(folder)/\($0)" }.filter(isWritten).map(read)
  }

  private static func isWritten(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    let whole = top.appending(path: path).path
    guard FileManager.default.fileExists(atPath: whole, isDirectory: &isFolder), !isFolder.boolValue
    else { return false }
    let kinds = [".swift", ".c", ".h", ".sh", ".modulemap"]
    return kinds.contains { path.hasSuffix($0) } || path.hasPrefix("Tools/")
  }

  private static func read(_ path: String) -> SourceFile {
    let bytes = (try? Data(contentsOf: top.appending(path: path))) ?? Data()
    return SourceFile(path: path, text: String(decoding: bytes, as: UTF8.self))
  }
}
