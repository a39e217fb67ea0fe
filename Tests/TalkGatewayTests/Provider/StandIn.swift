import Foundation
import Glibc
import Testing

/// Tools/apns-standin as a process of this test; it ends with the test.
final class StandIn {
  let directory: String
  private let process = Process()
  private let input = Pipe()
  private var control: Int32 = -1
  let ports: [String: Int]

  /// The folder of the project's tools.
  static let tools =
    URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).dropFirst()
    .reduce("") { $0 + "/" + $1 } + "/Tools"

  init() throws {
    directory = NSTemporaryDirectory() + "apns-\(UUID().uuidString.prefix(8))"
    process.executableURL = URL(fileURLWithPath: Self.tools + "/apns-standin")
    process.arguments = [directory, "--stdin"]
    process.standardInput = input
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var line = Data()
    while !line.contains(10) {
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw StandInError("it ended before it was ready") }
      line.append(more)
    }
    let ready = try JSONSerialization.jsonObject(with: line) as? [String: Any] ?? [:]
    guard let sandbox = ready["sandbox"] as? Int, let production = ready["production"] as? Int
    else {
      throw StandInError("it did not say its ports")
    }
    ports = ["sandbox": sandbox, "production": production]
    control = try Self.connect(directory + "/control")
  }

  deinit {
    close(control)
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: directory)
  }

  static func connect(_ path: String) throws -> Int32 {
    let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw StandInError("no connection to \(path)") }
    return fd
  }

  /// Sends a line, if any, and reads the next one.
  static func line(_ fd: Int32, sending text: String = "") -> [String: Any]? {
    if !text.isEmpty { _ = text.withCString { write(fd, $0, strlen($0)) } }
    var line = Data()
    var byte: UInt8 = 0
    while byte != 10, read(fd, &byte, 1) == 1 { line.append(byte) }
    return try? JSONSerialization.jsonObject(with: line) as? [String: Any]
  }

  /// One command, and its answer.
  @discardableResult
  func tell(_ name: String, _ fields: [String: Any] = [:]) throws -> [String: Any] {
    var message = fields
    message["do"] = name
    var data = try JSONSerialization.data(withJSONObject: message)
    data.append(10)
    data.withUnsafeBytes { _ = write(control, $0.baseAddress!, $0.count) }
    var answer = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while answer.last != 10 {
      let count = read(control, &buffer, buffer.count)
      guard count > 0 else { throw StandInError("it is gone") }
      answer.append(contentsOf: buffer[..<count])
    }
    let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any] ?? [:]
    if let error = object["error"] { throw StandInError("\(error)") }
    return object
  }

  func number(_ name: String) throws -> Int { try tell("stats")[name] as? Int ?? 0 }

  func count(_ name: String) throws -> Int {
    (try tell("stats")["counters"] as? [String: Int])?[name] ?? 0
  }

  /// Asks for statistics until they satisfy, for at most ten seconds.
  func until(_ condition: ([String: Any]) -> Bool) throws -> Bool {
    let end = Date().addingTimeInterval(10)
    while Date() < end {
      if condition(try tell("stats")) { return true }
      usleep(2_000)
    }
    return false
  }
}

struct StandInError: Error, CustomStringConvertible {
  let description: String
  init(_ text: String) { description = "apns-standin: " + text }
}
