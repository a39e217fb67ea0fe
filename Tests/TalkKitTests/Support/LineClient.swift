import Foundation
import Glibc

@testable import TalkKit

/// A client that writes and reads bytes as they are, and gives up after ten seconds.
final class LineClient {
  let descriptor: Int32
  private var input: [UInt8] = []

  init(_ path: String) {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let address = try! UnixAddress(path)
    precondition(address.withPointer { connect(descriptor, $0, $1) } == 0, "connect \(path)")
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Sends bytes; false when the server does not take them.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var used = 0
    while used < bytes.count {
      let put = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + used, $0.count - used, Int32(MSG_NOSIGNAL))
      }
      guard put > 0 else { return false }
      used += put
    }
    return true
  }

  @discardableResult
  func send(_ line: String) -> Bool { send(Array("\(line)\n".utf8)) }

  /// Sends no more, but goes on reading.
  func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next line; nil at the end of the connection, or after ten seconds.
  func line() -> String? {
    while true {
      if let end = input.firstIndex(of: 10) {
        defer { input.removeFirst(end + 1) }
        return String(decoding: input[..<end], as: UTF8.self)
      }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let got = chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress!, $0.count, 0) }
      guard got > 0 else { return nil }
      input.append(contentsOf: chunk[..<got])
    }
  }

  /// The next line as JSON.
  func object() -> [String: JSONValue]? {
    guard let line = line(),
      case .object(let object)? = JSONLine.decode(JSONValue.self, Array(line.utf8))
    else { return nil }
    return object
  }

  /// True once the server has ended the connection; what comes before is dropped.
  func isEnded() -> Bool {
    while line() != nil {}
    return errno != EAGAIN
  }
}

extension [String: JSONValue] {
  /// The error's code, message and reason in an answer.
  var failure: (code: Int64, message: String, reason: String)? {
    guard case .object(let error)? = self["error"], case .integer(let code)? = error["code"],
      case .string(let message)? = error["message"], case .object(let data)? = error["data"],
      case .string(let reason)? = data["reason"]
    else { return nil }
    return (code, message, reason)
  }

  /// The event's name in a notification.
  var event: String? {
    guard case .object(let event)? = self["params"], case .string(let name)? = event["event"] else {
      return nil
    }
    return name
  }

  /// The event's number in a notification.
  var seq: Int64? {
    guard case .object(let event)? = self["params"], case .integer(let seq)? = event["seq"] else {
      return nil
    }
    return seq
  }
}
