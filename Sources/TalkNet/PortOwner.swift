import Glibc
import TalkCore

/// The process that has a UDP port, as /proc shows it (proc(5)): for a line that names it.
package struct PortOwner: Hashable, Sendable, CustomStringConvertible {
  /// The most processes that are looked at.
  private static let processLimit = 8_192

  /// Its process number.
  package let process: Int32
  /// Its command, at most 15 bytes.
  package let command: String

  /// As in "socat (process 4711)"; the command is escaped, for a process may call itself anything.
  package var description: String { "\(SafeText.escaped(command)) (process \(process))" }

  /// Who has `port` in the network of this thread; nil when nobody has, or it is not ours to see:
  /// other users' processes do not show us their sockets.
  package static func find(_ port: UInt16) -> PortOwner? {
    let inodes = ["udp", "udp6"].flatMap { table in
      Self.inodes(of: port, table: "/proc/thread-self/net/\(table)")
    }
    guard !inodes.isEmpty else { return nil }
    let links = inodes.map { "socket:[\($0)]" }
    for process in names(in: "/proc").compactMap(Int32.init).sorted().prefix(processLimit) {
      let folder = "/proc/\(process)/fd"
      guard names(in: folder).contains(where: { links.contains(target(of: "\(folder)/\($0)")) })
      else { continue }
      let command = SystemFile.text(of: "/proc/\(process)/comm")
      return PortOwner(process: process, command: command.filter { !$0.isNewline })
    }
    return nil
  }

  /// The inodes of the sockets on a port: of each line the second word ends in the port in
  /// hexadecimal digits, the tenth is the inode.
  private static func inodes(of port: UInt16, table: String) -> [Substring] {
    let digits = String(port, radix: 16, uppercase: true)
    let ending = ":" + String(repeating: "0", count: 4 - digits.count) + digits
    return SystemFile.text(of: table).split(separator: "\n").dropFirst().compactMap {
      line in
      let words = line.split(separator: " ")
      guard words.count > 9, words[1].hasSuffix(ending), words[9] != "0" else { return nil }
      return words[9]
    }
  }

  private static func target(of path: String) -> String {
    var bytes = [UInt8](repeating: 0, count: 128)
    let got = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe readlink(path, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    return got > 0 ? String(decoding: bytes[..<got], as: UTF8.self) : ""
  }

  private static func names(in folder: String) -> [String] {
    guard let stream = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
        unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      names.append(name)
    }
    return names
  }
}
