import FoundationEssentials
import Glibc
import TalkKit

/// The file of `doctor --report`: for whoever helps from afar.
enum DoctorReportFile {
  /// How every report begins: by this an older one is known, which may be replaced.
  static let heading = "Talkaround doctor's report"

  /// Throws when `path` can't become a report: it is something else already, or can't be written.
  static func check(_ path: String) throws(CommandError) {
    guard !path.isEmpty else { throw .usage("--report needs the name of a file") }
    let folder = Self.folder(of: path)
    var info = stat()
    if unsafe lstat(path, &info) == 0 {
      guard info.st_mode & S_IFMT == S_IFREG, isReport(path) else {
        throw .usage("--report \(path): is there and no report of the doctor's; name another file")
      }
    }
    guard unsafe access(folder, W_OK | X_OK) == 0 else {
      let isThere = unsafe access(folder, F_OK) == 0
      throw CommandError(
        message: "--report \(path): "
          + (isThere
            ? "no permission to write to \(folder); name another folder"
            : "there is no folder \(folder); make it, or name another"),
        exitCode: isThere ? ExitCode.noPermission : ExitCode.usage)
    }
  }

  /// Writes the report whole or not at all, over an older report alone; true when there was one.
  static func write(
    _ examination: Doctor.Examination, to path: String
  ) throws(CommandError) -> Bool {
    try check(path)
    let wasThere = unsafe access(path, F_OK) == 0
    let bytes = Array(text(examination).utf8)
    let temporary = "\(path).\(getpid())"
    let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(path) }
    let isWritten = Context.write(bytes, to: file) && fsync(file) == 0
    let reason = errno
    close(file)
    guard isWritten, unsafe rename(temporary, path) == 0 else {
      if !isWritten { errno = reason }
      let error = failure(path)
      unsafe unlink(temporary)
      throw error
    }
    return wasThere
  }

  private static func failure(_ path: String) -> CommandError {
    let reason = unsafe String(cString: strerror(errno))
    return CommandError(
      message: "--report \(path): \(reason); name another file", exitCode: ExitCode.unavailable)
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func isReport(_ path: String) -> Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return false }
    defer { close(file) }
    let wanted = Array(heading.utf8)
    var start = [UInt8](repeating: 0, count: wanted.count)
    let got = unsafe start.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress!, $0.count) }
    // An empty file holds nothing to lose.
    return got == 0 || got == wanted.count && start == wanted
  }

  /// The text: when, what, the checks, and the node's status without what tells strangers apart
  /// for ever: ids are cut to eight digits.
  static func text(_ examination: Doctor.Examination) -> String {
    let now = Date().formatted(.iso8601)
    var lines = [
      heading, "\(now), talkaround \(examination.report.version)", "",
    ]
    lines += DoctorText.lines(examination.report)
    lines += ["", "Facts:"]
    for check in examination.report.checks where !check.facts.isEmpty {
      let facts = check.facts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      lines.append(DisplayText.line("  \(check.id): \(facts.joined(separator: " "))"))
    }
    lines += ["", "Status:"]
    lines += examination.status.map { StatusCommand.lines(redacted($0)) } ?? ["no node answers"]
    let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
    let text = lines.joined(separator: "\n") + "\n"
    return home.count > 1 ? text.replacing(home, with: "~") : text
  }

  private static func redacted(_ status: StatusReport) -> StatusReport {
    var status = status
    status.node.id = String(status.node.id.prefix(8))
    for index in status.channels.indices {
      status.channels[index].id = String(status.channels[index].id.prefix(8))
    }
    return status
  }
}
