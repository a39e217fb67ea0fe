import Foundation
import Glibc

/// A UDP datagram seen on a host's link (a line of Tools/lab.d/sniff.c).
struct Datagram: Sendable {
  let time: Double
  /// It left the host; else it came to it.
  let isOutgoing: Bool
  /// Multicast or broadcast.
  let isForGroup: Bool
  let source: String
  let sourcePort: Int
  let destination: String
  let destinationPort: Int
  /// In hexadecimal digits.
  let payload: String

  /// mDNS, whoever it is for.
  var isMDNS: Bool { sourcePort == 5353 || destinationPort == 5353 }

  init?(line: Substring) {
    let words = line.split(separator: " ")
    guard words.count == 8, let time = Double(words[0]), let from = Int(words[4]),
      let to = Int(words[6])
    else { return nil }
    self.time = time
    isOutgoing = words[1] == "out"
    isForGroup = words[2] == "group"
    source = String(words[3])
    sourcePort = from
    destination = String(words[5])
    destinationPort = to
    payload = words[7] == "-" ? "" : String(words[7])
  }
}

/// A sniffer at work.
struct Sniffer {
  /// The file that it writes: also what `Tools/lab flood` takes as its model.
  let path: String
  let child: ChildProcess

  /// Ends it; what passed.
  func stop() throws -> [Datagram] {
    child.signal(SIGTERM)
    let output = try child.wait(seconds: 10)
    guard output.succeeded else { throw LabError("sniffer: \(output.err)") }
    return try String(contentsOfFile: path, encoding: .utf8)
      .split(separator: "\n").compactMap(Datagram.init)
  }
}
