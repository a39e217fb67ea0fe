/// A place where a rule of the project is broken, and what to do instead.
struct Violation: CustomStringConvertible, Sendable {
  let path: String
  let line: Int
  let message: String

  init(_ file: SourceFile, _ line: Int, _ message: String) {
    path = file.path
    self.line = line
    self.message = message
  }

  var description: String { "\(path):\(line): \(message)" }
}
