import TalkNet

/// Hands what comes in by the control socket to the node's loop.
struct ControlBridge: ControlHandler {
  let inputs: Mailbox<ShellInput>

  func handle(
    _ request: ControlRequest, from client: ControlClientID,
    reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    guard !inputs.post(.request(request, client, reply: reply)) else { return }
    reply(.failure(ControlFailure(.overload, "the node has too much to do; try again")))
  }

  func clientGone(_ client: ControlClientID) {
    inputs.post(.clientGone(client))
  }
}
