import FoundationEssentials
import TalkNet

/// Who has which UDP port, as /proc shows it (proc(5)).
enum PortTable {
  /// One socket that takes unicast on a port.
  struct Entry: Hashable {
    var port: UInt16
    var inode: String
  }

  /// The ports of `range` that somebody has, with the process where it is ours to see.
  static func uses(of range: ClosedRange<UInt16>) -> [DoctorFacts.PortUse] {
    let tables = ["udp", "udp6"].map { SystemFile.text(of: "/proc/self/net/\($0)") }
    let entries = tables.flatMap(entries(in:)).filter { range.contains($0.port) }
    guard !entries.isEmpty else { return [] }
    let owners = owners(of: Set(entries.map(\.inode)))
    let marks = marks(in: SystemFile.text(of: "/proc/self/net/unix"))
    var uses: [DoctorFacts.PortUse] = []
    for entry in entries.sorted(by: { ($0.port, $0.inode) < ($1.port, $1.inode) })
    where !uses.contains(where: { $0.port == entry.port }) {
      let owner = owners[entry.inode]
      uses.append(
        DoctorFacts.PortUse(
          port: entry.port, process: owner?.process, program: owner?.program ?? "",
          isNode: marks.contains(entry.port)))
    }
    return uses
  }

  /// The sockets of a table of /proc/net/udp or udp6. Sockets that are bound to a group or to
  /// broadcast take no unicast: a second node has such ones on the first one's port.
  static func entries(in table: String) -> [Entry] {
    table.split(separator: "\n").dropFirst().compactMap { line in
      let words = line.split(separator: " ", omittingEmptySubsequences: true)
      guard words.count > 9 else { return nil }
      let local = words[1].split(separator: ":")
      guard local.count == 2, let port = UInt16(local[1], radix: 16), !isForMany(local[0]) else {
        return nil
      }
      return Entry(port: port, inode: String(words[9]))
    }
  }

  /// The ports that nodes of ours have marked, of the text of /proc/net/unix: each holds an
  /// abstract socket named for its port.
  static func marks(in table: String) -> Set<UInt16> {
    let ports = table.split(separator: "\n").compactMap { line -> UInt16? in
      guard let name = line.split(separator: " ").last, name.hasPrefix("@talkaround-udp-") else {
        return nil
      }
      return UInt16(name.dropFirst("@talkaround-udp-".count))
    }
    return Set(ports)
  }

  /// True for a group's or the broadcast address. Both are written as words of 32 bits in the
  /// machine's own order, little-endian here: the first byte stands last.
  private static func isForMany(_ address: Substring) -> Bool {
    guard let first = UInt8(address.prefix(8).suffix(2), radix: 16) else { return false }
    return address.count == 8 ? first >= 224 : first == 0xff
  }

  private static func owners(of inodes: Set<String>) -> [String: (process: Int32, program: String)]
  {
    var owners: [String: (process: Int32, program: String)] = [:]
    let files = FileManager.default
    let links = Dictionary(uniqueKeysWithValues: inodes.map { ("socket:[\($0)]", $0) })
    for name in (try? files.contentsOfDirectory(atPath: "/proc")) ?? [] {
      guard let process = Int32(name) else { continue }
      let folder = "/proc/\(name)/fd"
      for number in (try? files.contentsOfDirectory(atPath: folder)) ?? [] {
        guard let target = try? files.destinationOfSymbolicLink(atPath: "\(folder)/\(number)"),
          let inode = links[target]
        else { continue }
        owners[inode] = (process, program(of: name))
      }
      if owners.count == inodes.count { break }
    }
    return owners
  }

  private static func program(of process: String) -> String {
    String(SystemFile.text(of: "/proc/\(process)/comm").prefix { $0 != "\n" })
  }
}
