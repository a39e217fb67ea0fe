import TalkKit

/// The exit codes that scripts may rely on (sysexits.h; surface.md).
enum ExitCode {
  static let ok: Int32 = 0
  static let usage: Int32 = 64
  static let unavailable: Int32 = 69
  static let output: Int32 = 74
  static let busy: Int32 = 75
  static let noPermission: Int32 = 77
  static let state: Int32 = 78

  /// What a command ends with that the node refused for this reason.
  static func of(_ reason: Reason) -> Int32 {
    switch reason {
    case .usage, .noSuchChannel, .channelExists, .badName, .badInvite, .badFile: usage
    case .busy, .queueFull, .overload, .stopping, .released: busy
    case .listenOnly, .classRefused: noPermission
    case .stateFile, .copiedIdentity: state
    default: unavailable
    }
  }
}

/// Why a command failed: one line that names the thing and the cure, and the exit code.
struct CommandError: Error {
  let message: String
  let exitCode: Int32

  /// A mistake in the command line.
  static func usage(_ message: String) -> CommandError {
    CommandError(message: message, exitCode: ExitCode.usage)
  }

  init(message: String, exitCode: Int32) {
    self.message = message
    self.exitCode = exitCode
  }

  init(_ error: NodeServiceError) {
    self.init(message: error.message, exitCode: error.exitCode)
  }

  init(_ error: ControlError) {
    let code =
      switch error {
      case .refused(let failure): ExitCode.of(failure.reason)
      default: NodeServiceError(error).exitCode
      }
    self.init(message: error.description, exitCode: code)
  }
}

extension ControlClient {
  /// Asks and waits for the JSON of the result.
  func ask(
    _ method: ControlMethod, _ parameters: [String: JSONValue] = [:],
    patience: Duration? = ControlClient.patience
  ) throws(CommandError) -> [UInt8] {
    do { return try call(method, parameters, patience: patience) } catch {
      throw CommandError(error)
    }
  }

  /// Asks and waits for the result.
  func ask<Value: Decodable>(
    _ method: ControlMethod, _ parameters: [String: JSONValue] = [:], as type: Value.Type,
    patience: Duration? = ControlClient.patience
  ) throws(CommandError) -> Value {
    do { return try call(method, parameters, as: type, patience: patience) } catch {
      throw CommandError(error)
    }
  }
}
