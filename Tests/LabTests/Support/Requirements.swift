import Foundation
import Testing

/// What a test on the lab needs, and how to get it.
enum Requirements {
  /// Root, for network namespaces.
  static let isRoot = geteuid() == 0
  /// Why tests on the lab do not run without it.
  static let needsRoot: Comment = "needs root, for network namespaces: sudo Tools/test"
  /// Whether long runs are wanted (`Tools/test --all`).
  static let isLong = ProcessInfo.processInfo.environment["TALKAROUND_LONG"] != nil

  /// The top of the project.
  static let top = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The program under test: of the release build, or what TALKAROUND names.
  static func talkaround() throws -> String {
    let path =
      ProcessInfo.processInfo.environment["TALKAROUND"]
      ?? top.appending(path: ".build/release/talkaround").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw LabError("\(path) is not there: run `swift build -c release --product talkaround`")
    }
    return path
  }
}
