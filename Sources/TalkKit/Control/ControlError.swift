/// Why the control socket cannot be served or used. Each case names the thing and the cure.
package enum ControlError: Error, Hashable, Sendable {
  /// The path does not fit a socket's address (unix(7)).
  case pathTooLong(String)
  /// Another node answers there already.
  case inUse(String)
  /// Something that is no socket stands there.
  case notASocket(String)
  /// The folder is not ours alone, or not to be used; the text says why.
  case badFolder(String, String)
  /// The system does not let us.
  case noPermission(String)
  /// No node answers there.
  case noNode(String)
  /// The node closed the connection.
  case lost
  /// The node did not answer in time.
  case timedOut
  /// The node's answer is not what this program understands: another version's, perhaps.
  case notUnderstood
  /// The node refused the request.
  case refused(ControlFailure)
  /// A call failed: path, name and errno.
  case failed(String, call: String, errno: Int32)
}

extension ControlError: CustomStringConvertible {
  /// One line that names the thing and the cure.
  package var description: String {
    switch self {
    case .pathTooLong(let path):
      let most = UnixAddress.pathLimit
      return "\(path): too long for a socket (\(path.utf8.count) bytes, at most \(most)); "
        + "use a shorter --state DIR"
    case .inUse(let path):
      return "\(path): another node answers there; stop it with 'talkaround stop'"
    case .notASocket(let path): return "\(path): is no socket; move it away"
    case .badFolder(let path, let why): return "\(path): \(why)"
    case .noPermission(let path): return "\(path): permission denied; check its owner and mode"
    case .noNode(let path):
      return "no node is running (nobody answers at \(path)); start one with 'talkaround start'"
    case .lost: return "the node closed the connection; look at its output for the reason"
    case .timedOut: return "the node does not answer; stop it and start it again"
    case .notUnderstood:
      return "the node's answer is not understood; restart it with this version of talkaround"
    case .refused(let failure): return failure.message
    case .failed(let path, let call, let number):
      return "\(path): \(call) failed: \(SystemText.of(number))"
    }
  }
}
