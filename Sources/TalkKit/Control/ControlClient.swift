import CLinux
import Glibc
import TalkCore

/// A client of the control socket for programs that may wait: one request at a time, and a stream
/// of events. For one thread.
package final class ControlClient {
  /// What came from the node.
  package enum Incoming: Sendable {
    /// An event as the node wrote it: one object of JSON.
    case event([UInt8])
    /// The answer to the request of that number: the JSON of its result, or why not.
    case answer(Int64, Result<[UInt8], ControlFailure>)
  }

  /// How long an ordinary request may take.
  package static let patience = Duration.seconds(10)

  /// The socket, for poll(2) beside other things.
  package let descriptor: Int32
  private var input: [UInt8] = []
  private var events = BoundedQueue<[UInt8]>(limit: ControlLimits.waitingEvents)
  private var lastID: Int64 = 0

  /// Connects to the node whose socket is at `path`; throws `noNode` when there is none.
  package init(path: String) throws(ControlError) {
    let address = try UnixAddress(path)
    let number = try UnixAddress.makeSocket(path: path)
    guard unsafe address.withPointer({ unsafe connect(number, $0, $1) }) == 0 else {
      let reason = errno
      close(number)
      switch reason {
      case ENOENT, ECONNREFUSED, ENOTDIR: throw .noNode(path)
      case EACCES, EPERM: throw .noPermission(path)
      default: throw .failed(path, call: "connect", errno: reason)
      }
    }
    descriptor = number
  }

  deinit { close(descriptor) }

  /// Sends a request and returns its number, or a notification, which gets no answer.
  @discardableResult
  package func send(
    _ method: ControlMethod, _ parameters: [String: JSONValue] = [:], notification: Bool = false
  ) throws(ControlError) -> Int64 {
    if !notification { lastID += 1 }
    let request = Request(
      id: notification ? nil : lastID, method: method.rawValue, params: parameters)
    let line = JSONLine.encode(request) + [UInt8(ascii: "\n")]
    var used = 0
    while used < line.count {
      let put = unsafe line.withUnsafeBytes { buffer in
        unsafe Glibc.send(
          descriptor, buffer.baseAddress! + used, buffer.count - used,
          Int32(MSG_NOSIGNAL))
      }
      if put < 0, errno == EINTR { continue }
      guard put > 0 else { throw .lost }
      used += put
    }
    return lastID
  }

  /// Sends a request and waits for the JSON of its result; events that come meanwhile are kept for
  /// `receive`. No patience: waits as long as it takes.
  package func call(
    _ method: ControlMethod, _ parameters: [String: JSONValue] = [:],
    patience: Duration? = ControlClient.patience
  ) throws(ControlError) -> [UInt8] {
    let id = try send(method, parameters)
    let deadline = patience.map { now() + $0 }
    while true {
      let left = deadline.map { max(.zero, $0 - now()) }
      guard let incoming = try take(left) else { throw .timedOut }
      switch incoming {
      case .event(let event): events.append(event)
      case .answer(let answered, let result) where answered == id:
        do { return try result.get() } catch { throw .refused(error) }
      case .answer: break
      }
    }
  }

  /// Sends a request and waits for its result.
  package func call<Value: Decodable>(
    _ method: ControlMethod, _ parameters: [String: JSONValue] = [:], as type: Value.Type,
    patience: Duration? = ControlClient.patience
  ) throws(ControlError) -> Value {
    let json = try call(method, parameters, patience: patience)
    guard let value = JSONLine.decode(type, json) else { throw .notUnderstood }
    return value
  }

  /// The node's process, as the system knows it (SO_PEERCRED of unix(7)); nil when it does not say.
  package var nodeProcess: Int32? {
    // struct ucred: process, user, group.
    var credentials: [Int32] = [0, 0, 0]
    var size = socklen_t(credentials.count * MemoryLayout<Int32>.size)
    let failed = unsafe credentials.withUnsafeMutableBytes { buffer in
      unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, buffer.baseAddress, &size)
    }
    return failed == 0 && credentials[0] > 0 ? credentials[0] : nil
  }

  /// True when something that came waits here, where poll(2) does not see it.
  package var hasWaiting: Bool {
    !events.isEmpty || input.contains(UInt8(ascii: "\n"))
  }

  /// The next thing that came; nil when nothing does within `patience` (none: waits for ever).
  package func receive(_ patience: Duration?) throws(ControlError) -> Incoming? {
    if let event = events.popFirst() { return .event(event) }
    return try take(patience)
  }

  private func take(_ patience: Duration?) throws(ControlError) -> Incoming? {
    let deadline = patience.map { now() + $0 }
    while true {
      if let line = nextLine() {
        guard let incoming = try Self.parse(line) else { continue }
        return incoming
      }
      let wait = deadline.map { max(.zero, $0 - now()).milliseconds.rounded(.up) }
      var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&polled, 1, wait.map { Int32(min($0, 1e9)) } ?? -1)
      if ready == 0 { return nil }
      // A signal may be what the caller waits for.
      if ready < 0 { return nil }
      try fill()
    }
  }

  private func fill() throws(ControlError) {
    var chunk = [UInt8](repeating: 0, count: 64 * 1_024)
    let got = unsafe chunk.withUnsafeMutableBytes { buffer in
      unsafe recv(descriptor, buffer.baseAddress!, buffer.count, 0)
    }
    if got < 0, errno == EINTR { return }
    guard got > 0 else { throw .lost }
    input.append(contentsOf: chunk[..<got])
    guard input.count <= 2 * ControlLimits.unreadSize else { throw .notUnderstood }
  }

  private func nextLine() -> [UInt8]? {
    guard let end = input.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { input.removeFirst(end + 1) }
    return Array(input[..<end])
  }

  /// Reads a line; nil for a notification of a kind that this version does not know.
  private static func parse(_ line: [UInt8]) throws(ControlError) -> Incoming? {
    if line.starts(with: ControlMessage.eventPrefix), line.last == UInt8(ascii: "}") {
      return .event(Array(line.dropFirst(ControlMessage.eventPrefix.count).dropLast()))
    }
    guard let answer = JSONLine.decode(Answer.self, line) else { throw .notUnderstood }
    if let failure = answer.error {
      guard let id = answer.id else { throw .refused(failure) }
      return .answer(id, .failure(failure))
    }
    guard let id = answer.id else { return nil }
    return .answer(id, .success(JSONLine.encode(answer.result ?? .null)))
  }

  private struct Request: Encodable {
    var jsonrpc = "2.0"
    var id: Int64?
    var method: String
    var params: [String: JSONValue]
  }

  private struct Answer: Decodable {
    var id: Int64?
    var result: JSONValue?
    var error: ControlFailure?
  }

  private func now() -> Instant { Instant(nanoseconds: talk_boottime_nanoseconds()) }
}
