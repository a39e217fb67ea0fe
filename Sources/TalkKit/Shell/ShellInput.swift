import TalkStore

/// What other threads hand to the node's loop.
enum ShellInput: Sendable {
  /// A request of a client of the control socket.
  case request(ControlRequest, ControlClientID, reply: @Sendable (ControlReply) -> Void)
  /// A client of the control socket is gone.
  case clientGone(ControlClientID)
  /// The store's worker has settled a file.
  case stored(StoreWriter.Completion)
  /// End the node.
  case stop
}
