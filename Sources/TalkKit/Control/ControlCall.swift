/// What a line asks for: something of the node, or the stream of events, which the server gives.
enum ControlCall: Hashable, Sendable {
  case request(ControlRequest)
  case subscribe(levels: Bool)

  /// Checks a method and its parameters; the failure names what is wrong and what was meant.
  static func parse(
    method name: String, parameters: JSONValue?
  ) throws(ControlFailure) -> ControlCall {
    guard let method = ControlMethod(rawValue: name) else {
      let hint = NearestName.hint(name, among: ControlMethod.allCases.map(\.rawValue))
      throw ControlFailure(
        .unknownMethod, .usage, "no method is called '\(name.prefix(64))'\(hint)")
    }
    var reader = try ParameterReader(method: method, parameters: parameters)
    return try parse(method, &reader)
  }

  private static func parse(
    _ method: ControlMethod, _ reader: inout ParameterReader
  ) throws(ControlFailure) -> ControlCall {
    switch method {
    case .channelCreate: .request(.channelCreate(name: try reader.text("name")))
    case .channelList: .request(.channelList)
    case .channelShow: .request(.channelShow(try reader.optionalText("channel")))
    case .channelUse: .request(.channelUse(try reader.text("channel")))
    case .channelLeave: .request(.channelLeave(try reader.text("channel")))
    case .invite:
      .request(
        .invite(
          channel: try reader.optionalText("channel"),
          lifetime: .seconds(
            try reader.integer(
              "seconds", in: ControlLimits.inviteSeconds,
              otherwise: ControlLimits.inviteDefaultSeconds)),
          joiners: try reader.integer("joiners", in: ControlLimits.inviteJoiners, otherwise: 1)))
    case .join: .request(.join(invite: InviteText(try reader.text("invite"))))
    case .members: .request(.members(try reader.optionalText("channel")))
    case .talkHold: .request(.talkHold)
    case .talkPress: .request(.talkPress)
    case .talkRelease: .request(.talkRelease)
    case .talkToggle: .request(.talkToggle)
    case .talkFile: .request(.talkFile(path: try reader.path("path")))
    case .status: .request(.status)
    case .devices: .request(.devices)
    case .stop: .request(.stop)
    case .subscribe: .subscribe(levels: try reader.bool("levels", otherwise: false))
    }
  }
}

/// Takes parameters by name and says which is wrong.
private struct ParameterReader {
  let method: ControlMethod
  private let values: [String: JSONValue]

  /// Throws for parameters that are no object, or that the method does not take.
  init(method: ControlMethod, parameters: JSONValue?) throws(ControlFailure) {
    self.method = method
    switch parameters {
    case nil, .null: values = [:]
    case .object(let object): values = object
    default:
      throw ControlFailure(
        .badParameters, .usage, "\(method.rawValue): params must be an object with names")
    }
    for name in values.keys.sorted() where !method.parameters.contains(name) {
      let hint = NearestName.hint(name, among: method.parameters)
      throw bad("takes no '\(name.prefix(64))'\(hint)")
    }
  }

  private func bad(_ text: String) -> ControlFailure {
    ControlFailure(.badParameters, .usage, "\(method.rawValue) \(text)")
  }

  func optionalText(_ name: String) throws(ControlFailure) -> String? {
    switch values[name] {
    case nil, .null: return nil
    case .string(let text):
      guard text.utf8.count <= ControlLimits.textSize else {
        throw bad("'\(name)' is longer than \(ControlLimits.textSize) bytes")
      }
      return text
    default: throw bad("'\(name)' must be a text")
    }
  }

  func text(_ name: String) throws(ControlFailure) -> String {
    guard let text = try optionalText(name), !text.isEmpty else { throw bad("needs '\(name)'") }
    return text
  }

  /// An absolute path without a NUL: the node's folder is not the client's.
  func path(_ name: String) throws(ControlFailure) -> String {
    let path = try text(name)
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      throw bad("'\(name)' must be an absolute path")
    }
    return path
  }

  func integer(
    _ name: String, in range: ClosedRange<Int>, otherwise: Int
  ) throws(ControlFailure) -> Int {
    switch values[name] {
    case nil, .null: return otherwise
    case .integer(let value):
      guard let value = Int(exactly: value), range.contains(value) else {
        throw bad("'\(name)' must be from \(range.lowerBound) to \(range.upperBound)")
      }
      return value
    default: throw bad("'\(name)' must be a whole number")
    }
  }

  func bool(_ name: String, otherwise: Bool) throws(ControlFailure) -> Bool {
    switch values[name] {
    case nil, .null: return otherwise
    case .bool(let value): return value
    default: throw bad("'\(name)' must be true or false")
    }
  }
}
