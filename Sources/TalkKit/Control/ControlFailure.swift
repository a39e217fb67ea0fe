/// A request that was not granted: a JSON-RPC 2.0 error object with a reason of ours.
package struct ControlFailure: Error, Hashable, Sendable {
  /// The kinds that JSON-RPC 2.0 tells apart (section 5.1).
  package enum Code: Int, Sendable {
    /// The line is no JSON.
    case notJSON = -32_700
    /// The line is no request.
    case notRequest = -32_600
    /// There is no such method.
    case unknownMethod = -32_601
    /// A parameter is missing, unknown or out of bounds.
    case badParameters = -32_602
    /// The node could not do it; the reason says why.
    case refused = -32_000
  }

  /// Which kind, as a number; a client may meet others than `Code` has.
  package var code: Int
  /// Why.
  package var reason: Reason
  /// One line that names the thing and the cure.
  package var message: String

  /// A failure of its parts.
  package init(_ code: Code, _ reason: Reason, _ message: String) {
    self.code = code.rawValue
    self.reason = reason
    self.message = message
  }

  /// What the node could not do, and why.
  package init(_ reason: Reason, _ message: String) {
    self.init(.refused, reason, message)
  }

  /// The failure of a request that names a channel that is not there, among those that are.
  package static func noSuchChannel(_ name: String, among names: [String]) -> ControlFailure {
    guard !names.isEmpty else { return .noChannel }
    let hint = NearestName.hint(name, among: names)
    let cure = hint.isEmpty ? "; 'talkaround channel list' shows those there are" : hint
    return ControlFailure(.noSuchChannel, "no channel is called '\(name.prefix(64))'\(cure)")
  }

  /// The failure of a request that needs a channel where there is none.
  package static let noChannel = ControlFailure(
    .noChannel, "there is no channel yet; make one with 'talkaround channel create NAME', or join")
}

extension ControlFailure: Codable {
  private enum CodingKeys: String, CodingKey { case code, message, data }
  private enum DataKeys: String, CodingKey { case reason }

  /// Writes `{"code", "data": {"reason"}, "message"}`.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(code, forKey: .code)
    try container.encode(message, forKey: .message)
    var data = container.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
    try data.encode(reason, forKey: .reason)
  }

  /// Reads what `encode` writes; a reason that is not known here is a `fault`.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    code = try container.decode(Int.self, forKey: .code)
    message = try container.decode(String.self, forKey: .message)
    let data = try? container.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
    reason = (try? data?.decode(Reason.self, forKey: .reason)) ?? .fault
  }
}
