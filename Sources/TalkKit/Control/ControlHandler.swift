/// Names one connection to the control socket; never used again within a run.
package struct ControlClientID: Hashable, Comparable, Sendable {
  /// The number, from 1: 0 is the node's own latch (`PressSource.latch`).
  package let number: UInt64

  /// Names a connection.
  package init(number: UInt64) { self.number = number }

  /// Orders by number.
  package static func < (left: ControlClientID, right: ControlClientID) -> Bool {
    left.number < right.number
  }
}

/// The node's side of the control socket. Calls come on the socket's thread, in the order in which
/// the clients' lines came; none may block.
package protocol ControlHandler: Sendable {
  /// Takes a request; `reply` is called once, on any thread, and may be called before this returns.
  func handle(
    _ request: ControlRequest, from client: ControlClientID,
    reply: @escaping @Sendable (ControlReply) -> Void)

  /// A connection is gone: what it holds is released. Called once for each connection that made a
  /// request; its open requests need no reply any more.
  func clientGone(_ client: ControlClientID)
}
