import Foundation
import Glibc

/// A connection to a node's control socket that stays open: a press through it takes microseconds,
/// where a command's process takes tens of milliseconds to start.
final class ControlSocket {
  /// What a node answered, and when it came (seconds, as the lab counts).
  struct Answer {
    let time: Double
    /// "ours", "queued" … of an answer that tells the floor.
    let floor: String?
    /// Our place in the queue, if we wait.
    let place: Int?
    /// What the node says when it refuses.
    let refusal: String?
  }

  private let descriptor: Int32
  private let host: String
  private var buffer: [UInt8] = []
  private var number = 0

  /// Connects to the node of a host.
  init(_ lab: Lab, _ host: String) throws {
    self.host = host
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let path = "\(lab.home(host))/talkaround/control.sock"
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw LabError("\(path) is too long for a socket")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else {
      throw LabError("\(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// Sends a request; when it left.
  @discardableResult func send(_ method: String) throws -> Double {
    number += 1
    let line = Array("{\"jsonrpc\":\"2.0\",\"id\":\(number),\"method\":\"\(method)\"}\n".utf8)
    let time = Lab.now()
    guard write(descriptor, line, line.count) == line.count else {
      throw LabError("\(host): the control socket takes no \(method)")
    }
    return time
  }

  /// The answer to the last request; nil when none has come `seconds` from now.
  func answer(within seconds: Double) throws -> Answer? {
    let deadline = Lab.now() + seconds
    while true {
      while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = Data(buffer[..<end])
        buffer.removeSubrange(...end)
        if let answer = answer(in: line) { return answer }
      }
      let left = deadline - Lab.now()
      guard left > 0 else { return nil }
      var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&polled, 1, Int32((left * 1_000).rounded(.up))) > 0 else { continue }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { throw LabError("\(host): the node closed the control socket") }
      buffer += bytes[..<count]
    }
  }

  private func answer(in line: Data) -> Answer? {
    let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any]
    guard let object, object["id"] as? Int == number else { return nil }
    let result = object["result"] as? [String: Any]
    let refusal = (object["error"] as? [String: Any])?["message"] as? String
    return Answer(
      time: Lab.now(), floor: result?["state"] as? String, place: result?["place"] as? Int,
      refusal: refusal)
  }
}
