/// The lines of the control socket: JSON-RPC 2.0 objects.
enum ControlMessage {
  /// A request that is well formed.
  struct Request {
    /// What the answer is to carry; nil for a notification, which gets none.
    var id: JSONValue?
    var method: String
    var parameters: JSONValue?
  }

  /// A line that is no request, with what an answer to it carries; no id: no answer.
  struct BadRequest: Error {
    var id: JSONValue?
    var failure: ControlFailure
  }

  /// Reads a request.
  static func request(_ line: [UInt8]) throws(BadRequest) -> Request {
    guard let value = JSONLine.decode(JSONValue.self, line) else {
      let failure = ControlFailure(.notJSON, .usage, "the line is no JSON")
      throw BadRequest(id: .null, failure: failure)
    }
    func bad(_ text: String, id: JSONValue? = .null) -> BadRequest {
      BadRequest(id: id, failure: ControlFailure(.notRequest, .usage, text))
    }
    guard case .object(let object) = value else { throw bad("a line holds one JSON object") }
    var id: JSONValue?
    switch object["id"] {
    case nil: id = nil
    case .string(let text): id = .string(text)
    case .integer(let number): id = .integer(number)
    case .null: id = .null
    default: throw bad("'id' must be a text or a whole number")
    }
    guard object["jsonrpc"] == .string("2.0") else {
      throw bad("'jsonrpc' must be \"2.0\"", id: id ?? .null)
    }
    guard case .string(let method) = object["method"] else {
      throw bad("'method' must be a text", id: id ?? .null)
    }
    return Request(id: id, method: method, parameters: object["params"])
  }

  /// The line that answers a request.
  static func reply(_ reply: ControlReply, id: JSONValue) -> [UInt8] {
    switch reply {
    case .success(let result): JSONLine.encode(Success(id: id, result: result))
    case .failure(let failure): self.failure(failure, id: id)
    }
  }

  /// The line that refuses a request.
  static func failure(_ failure: ControlFailure, id: JSONValue) -> [UInt8] {
    JSONLine.encode(Failure(id: id, error: failure))
  }

  /// What stands before an event in its line: always these bytes, so that a client may pass the
  /// event on as it is.
  static let eventPrefix = Array(#"{"jsonrpc":"2.0","method":"event","params":"#.utf8)

  /// The line that carries an event.
  static func event(_ event: WatchEvent) -> [UInt8] {
    eventPrefix + JSONLine.encode(event) + Array("}".utf8)
  }

  private struct Success: Encodable {
    var jsonrpc = "2.0"
    var id: JSONValue
    var result: ControlResult
  }

  private struct Failure: Encodable {
    var jsonrpc = "2.0"
    var id: JSONValue
    var error: ControlFailure
  }
}
