/// Where something stands in a file, both from 1; columns are counted in Unicode scalars.
package struct TextPosition: Hashable, Comparable, Sendable {
  /// The line.
  package var line: Int
  /// The column.
  package var column: Int

  /// Orders from the start of the file to its end.
  package static func < (left: TextPosition, right: TextPosition) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }
}

/// What is wrong with a profile, and where: the person who wrote it mends it.
package struct ProfileProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file, as it was named.
  package var file: String
  /// Where in it; nil when the whole file cannot be used.
  package var position: TextPosition?
  /// What is wrong, and the cure.
  package var message: String

  /// One line: `FILE:LINE:COLUMN: what; cure`.
  package var description: String {
    guard let position else { return "\(file): \(message)" }
    return "\(file):\(position.line):\(position.column): \(message)"
  }
}

/// A value of JSON5 with the place where it stands.
struct JSON5Node {
  var position: TextPosition
  var value: Value

  enum Value {
    case null
    case bool(Bool)
    /// With the letters that stand for it: 0x10 is to be told as it was written.
    case number(Double, written: String)
    case text(String)
    case list([JSON5Node])
    case object([Member])
  }

  /// A name and its value, in the order of the file; the same name may come twice.
  struct Member {
    var name: String
    var position: TextPosition
    var node: JSON5Node
  }

  /// What it is, for messages.
  var kind: String {
    switch value {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(_, let written): written
    case .text: "a text"
    case .list: "a list"
    case .object: "an object"
    }
  }
}
