import Glibc

/// Finds and reads profiles.
package struct ProfileFinder: Sendable {
  /// The profile of a node that names none.
  package static let defaultName = "lan-intercom"
  /// How a profile's file ends.
  package static let suffix = ".json5"

  /// The folders that are looked through, the person's own first.
  package let folders: [String]

  /// Looks in the given folders.
  package init(folders: [String]) { self.folders = folders }

  /// Looks where profiles are: `$XDG_CONFIG_HOME/talkaround/profiles` (or
  /// `~/.config/talkaround/profiles`), the checkout that the program was built in, `share` beside
  /// the program's `bin`, and `/usr/share/talkaround/profiles`.
  package init(environment: [String: String], program: String) {
    var folders: [String] = []
    if let config = environment["XDG_CONFIG_HOME"], config.hasPrefix("/") {
      folders.append("\(config)/talkaround/profiles")
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      folders.append("\(home)/.config/talkaround/profiles")
    }
    let parts = program.split(separator: "/").map(String.init)
    if let build = parts.lastIndex(of: ".build") {
      folders.append("/" + (parts[..<build] + ["Profiles"]).joined(separator: "/"))
    } else if parts.count >= 2, parts[parts.count - 2] == "bin" {
      let prefix = parts.dropLast(2).map { "/\($0)" }.joined()
      folders.append("\(prefix)/share/talkaround/profiles")
    }
    let installed = "/usr/share/talkaround/profiles"
    if !folders.contains(installed) { folders.append(installed) }
    self.folders = folders
  }

  /// The names of the profiles that are there, in order.
  package var names: [String] {
    var names = Set([Self.defaultName])
    for folder in folders {
      guard let stream = unsafe opendir(folder) else { continue }
      defer { unsafe closedir(stream) }
      while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
          unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) {
            unsafe String(cString: $0)
          }
        }
        if name.hasSuffix(Self.suffix), !name.hasPrefix(".") {
          names.insert(String(name.dropLast(Self.suffix.count)))
        }
      }
    }
    return names.sorted()
  }

  /// The profile that a person named: a file's path if it has a slash or ends in .json5, else the
  /// name of one that is installed. None given: `lan-intercom`, which needs no file.
  package func load(_ wanted: String?) throws(ProfileProblems) -> Profile {
    let name = wanted ?? Self.defaultName
    if name.contains("/") || name.hasSuffix(Self.suffix) { return try Self.read(path: name) }
    for folder in folders {
      let path = "\(folder)/\(name)\(Self.suffix)"
      var info = stat()
      if unsafe lstat(path, &info) == 0 { return try Self.read(path: path) }
    }
    guard name != Self.defaultName else { return .builtIn }
    let shown = String(name.prefix(64))
    let hint = NearestName.hint(name, among: names)
    let cure = hint.isEmpty ? "; there are: \(names.joined(separator: ", "))" : hint
    throw ProfileProblems(all: [
      ProfileProblem(
        file: "profile", position: nil, message: "none is called '\(shown)'\(cure)")
    ])
  }

  /// Reads the file at `path`, whatever stands there.
  package static func read(path: String) throws(ProfileProblems) -> Profile {
    let bytes: [UInt8]
    do throws(ProfileProblem) {
      bytes = try contents(path)
    } catch {
      throw ProfileProblems(all: [error])
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ProfileProblems(all: [
        ProfileProblem(
          file: path, position: badLine(bytes), message: "is not UTF-8; save it as UTF-8")
      ])
    }
    return try Profile(text: text, file: path)
  }

  /// The bytes of a plain file of bounded size. O_NONBLOCK, so that a pipe can't hold us.
  private static func contents(_ path: String) throws(ProfileProblem) -> [UInt8] {
    func problem(_ message: String) -> ProfileProblem {
      ProfileProblem(file: path, position: nil, message: message)
    }
    guard !path.utf8.contains(0) else { throw problem("no path has a NUL in it") }
    let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else {
      switch errno {
      case ELOOP: throw problem("is a symbolic link; name the file that it points to")
      case EACCES, EPERM: throw problem("permission denied; check its owner and mode")
      case ENOENT: throw problem("is not there; 'talkaround config show' names those that are")
      case ENXIO: throw problem("is no plain file; name a profile")
      default: throw problem("\(SystemText.of(errno)); name a profile")
      }
    }
    defer { close(number) }
    var info = stat()
    guard unsafe fstat(number, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
      throw problem("is no plain file; name a profile")
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 * 1_024)
    while bytes.count <= JSON5Reader.sizeLimit {
      let got = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(number, buffer.baseAddress!, buffer.count)
      }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw problem(SystemText.of(errno)) }
      if got == 0 {
        guard !bytes.isEmpty else { throw problem("is empty; a profile is at least {}") }
        return bytes
      }
      bytes += chunk[..<got]
    }
    throw problem("is longer than \(JSON5Reader.sizeLimit / 1_024) KiB; a profile is short")
  }

  /// The line with the first bytes that are no UTF-8.
  private static func badLine(_ bytes: [UInt8]) -> TextPosition {
    var line = 1
    for part in bytes.split(separator: 10, omittingEmptySubsequences: false) {
      if String(validating: part, as: UTF8.self) == nil { break }
      line += 1
    }
    return TextPosition(line: line, column: 1)
  }
}
