import TalkWire

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
    case .channelCreate:
      .request(
        .channelCreate(
          name: try reader.text("name"), strict: try reader.bool("strict", otherwise: false)))
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
    case .membersSet:
      .request(
        .membersSet(
          channel: try reader.optionalText("channel"), member: try reader.text("member"),
          change: try reader.rightsChange()))
    case .talkHold: .request(.talkHold(try reader.floorClass()))
    case .talkPress: .request(.talkPress(try reader.floorClass()))
    case .talkRelease: .request(.talkRelease)
    case .talkToggle: .request(.talkToggle(try reader.floorClass()))
    case .talkFile:
      .request(.talkFile(path: try reader.path("path"), try reader.floorClass()))
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

  /// The class to speak with; normal unless named.
  func floorClass() throws(ControlFailure) -> FloorClass {
    guard let word = try optionalText("class") else { return .normal }
    return try floorClass(word, "class")
  }

  private func floorClass(_ word: String, _ name: String) throws(ControlFailure) -> FloorClass {
    guard let floorClass = FloorClass.allCases.first(where: { $0.word == word }) else {
      let words = FloorClass.allCases.map(\.word)
      throw bad(
        "'\(name)' must be one of \(words.joined(separator: ", "))"
          + NearestName.hint(word, among: words))
    }
    return floorClass
  }

  private func floorClasses(_ name: String) throws(ControlFailure) -> Set<FloorClass> {
    switch values[name] {
    case nil, .null: return []
    case .array(let items):
      var classes: Set<FloorClass> = []
      for item in items {
        guard case .string(let word) = item else { throw bad("'\(name)' must be a list of words") }
        classes.insert(try floorClass(word, name))
      }
      return classes
    default: throw bad("'\(name)' must be a list of words")
    }
  }

  /// What is to be changed of a member's rights.
  func rightsChange() throws(ControlFailure) -> RightsChange {
    var change = RightsChange(
      granted: try floorClasses("grant"), withdrawn: try floorClasses("withdraw"))
    if let word = try optionalText("role") {
      let words = RightsChange.Role.allCases.map(\.rawValue)
      guard let role = RightsChange.Role(rawValue: word) else {
        throw bad(
          "'role' must be one of \(words.joined(separator: ", "))"
            + NearestName.hint(word, among: words))
      }
      change.role = role
    }
    guard change != RightsChange() else { throw bad("needs 'role', 'grant' or 'withdraw'") }
    guard change.granted.isDisjoint(with: change.withdrawn) else {
      throw bad("grants and withdraws the same class")
    }
    return change
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
