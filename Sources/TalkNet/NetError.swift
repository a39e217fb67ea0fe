/// What can go wrong while sockets, timers and threads are made.
package enum NetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The configured port belongs to another program or node: free it, or set another port.
  /// The owner is named where the system lets us see it.
  case portTaken(UInt16, owner: PortOwner?)
  /// Every port of the range belongs to somebody: stop a node of this machine, or set a port.
  case noPortFree(ClosedRange<UInt16>)
  /// A system call failed for a reason of the machine's; `code` is its errno.
  case system(call: String, code: Int32)

  /// One line for a person.
  package var description: String {
    switch self {
    case .portTaken(let port, let owner):
      "UDP port \(port) is taken"
        + (owner.map { " by \($0): stop it" } ?? ": stop the program that has it (ss -lunp)")
        + ", or set another port"
    case .noPortFree(let range):
      "UDP ports \(range.lowerBound) to \(range.upperBound) are all taken: set a free port"
    case .system(let call, let code):
      "\(call) failed with errno \(code)"
    }
  }
}
