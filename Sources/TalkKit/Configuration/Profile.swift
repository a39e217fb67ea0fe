/// A profile that was read and is right: values for some of the keys, and where each stands.
package struct Profile: Sendable {
  /// The file, as it was named; `built in` where there is none.
  package let file: String
  /// The values, by the names of their keys.
  package let values: [String: (value: ProfileValue, position: TextPosition)]

  /// What a node has without any file: the defaults of the keys, which are those of lan-intercom.
  package static let builtIn = Profile(file: "built in", values: [:])

  /// Sets what the profile sets.
  package func apply(to options: inout NodeOptions) {
    for key in ProfileKey.all {
      if let entry = values[key.name] { key.put(&options, entry.value) }
    }
  }

  /// Where the value of a key comes from, for people.
  package func source(of key: ProfileKey) -> String {
    values[key.name].map { "\(file):\($0.position.line)" } ?? "default"
  }

  /// Reads and checks the text of a profile; throws every problem in it, in the order of the file.
  package init(text: String, file: String) throws(ProfileProblems) {
    let root: JSON5Node
    do throws(ProfileProblem) {
      root = try JSON5Reader.read(text, file: file)
    } catch {
      throw ProfileProblems(all: [error])
    }
    var reading = Reading(file: file)
    reading.take(root)
    guard reading.problems.isEmpty else {
      throw ProfileProblems(
        all: reading.problems.sorted {
          ($0.position ?? root.position) < ($1.position ?? root.position)
        })
    }
    self.init(file: file, values: reading.values)
  }

  private init(
    file: String, values: [String: (value: ProfileValue, position: TextPosition)]
  ) {
    self.file = file
    self.values = values
  }
}

/// Everything that is wrong with a profile: at least one problem.
package struct ProfileProblems: Error, Sendable {
  /// The problems, in the order of the file.
  package let all: [ProfileProblem]

  /// The first problem, and how many follow.
  package var line: String {
    let more = all.count - 1
    let tail = more > 0 ? " (and \(more) more; 'talkaround config check' lists them)" : ""
    return (all.first?.description ?? "") + tail
  }
}

/// Compares the tree of a file with the table of keys.
private struct Reading {
  let file: String
  var values: [String: (value: ProfileValue, position: TextPosition)] = [:]
  var problems: [ProfileProblem] = []
  private var seen: [String: TextPosition] = [:]

  init(file: String) { self.file = file }

  mutating func take(_ root: JSON5Node) {
    guard case .object(let members) = root.value else {
      return complain(root.position, "a profile is one object in '{' and '}', not \(root.kind)")
    }
    takeAll(members, within: "")
  }

  private mutating func complain(_ position: TextPosition, _ message: String) {
    problems.append(ProfileProblem(file: file, position: position, message: message))
  }

  private mutating func takeAll(_ members: [JSON5Node.Member], within prefix: String) {
    for member in members {
      let name = prefix + member.name
      if let first = seen[name] {
        complain(
          member.position, "'\(shown(name))' is there twice; the first is on line \(first.line)")
        continue
      }
      seen[name] = member.position
      take(member, name)
    }
  }

  private mutating func take(_ member: JSON5Node.Member, _ name: String) {
    if let key = ProfileKey.named(name) {
      switch key.type.read(member.node) {
      case .success(let value): values[name] = (value, member.position)
      case .failure(let wrong): complain(wrong.position, "\(name): \(wrong.message)")
      }
      return
    }
    let inner = ProfileKey.all.filter { $0.name.hasPrefix("\(name).") }
    guard inner.isEmpty else {
      if case .object(let members) = member.node.value {
        return takeAll(members, within: "\(name).")
      }
      let names = inner.map { String($0.name.dropFirst(name.count + 1)) }.joined(separator: ", ")
      return complain(
        member.node.position, "\(name): it must be an object with \(names), not \(member.node.kind)"
      )
    }
    complain(member.position, "no key is called '\(shown(name))'\(hint(name))")
  }

  private func shown(_ name: String) -> String { String(name.prefix(64)) }

  /// The key that was meant: by its whole name, or by its last part in another place.
  private func hint(_ name: String) -> String {
    let names = ProfileKey.all.map(\.name)
    let hint = NearestName.hint(name, among: names)
    guard hint.isEmpty else { return hint }
    let groups = Set(names.compactMap { $0.split(separator: ".").dropLast().first }).map(
      String.init)
    let group = NearestName.hint(name, among: groups.sorted())
    if !group.isEmpty { return group }
    let last = name.split(separator: ".").last.map(String.init) ?? name
    let meant = names.first { $0.hasSuffix(".\(last)") }
    return meant.map { "; did you mean '\($0)'?" }
      ?? "; 'talkaround config reference' lists them all"
  }
}
