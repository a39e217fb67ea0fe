package import TalkCore
package import TalkWire

/// Whom a floor message is for.
package enum FloorAudience: Hashable, Sendable {
  /// One peer, if its session is up.
  case peer(PeerID)
  /// Every peer of the channel whose session is up.
  case everyone
}

/// Why our own burst stopped.
package enum StopReason: String, Hashable, Sendable, CaseIterable {
  /// The key went up.
  case released
  /// The talk limit was reached.
  case limit
  /// A higher class took the floor.
  case preempted
  /// Another holder's token won.
  case lost
  /// Nobody is left who hears us.
  case unheard
  /// On a strict channel, no majority of the roster is left.
  case minority
}

/// Why a press did not lead to a burst, when nobody refused it.
package enum UnheardReason: String, Hashable, Sendable, CaseIterable {
  /// No other member is here.
  case alone
  /// Members are here, but none answered.
  case noAnswer
  /// The channel is strict, and half of its roster or more is away.
  case minority
}

/// What the floor wants done, in order.
package enum FloorEffect: Hashable, Sendable {
  /// Seal and send a message.
  case send(FloorMessage, to: FloorAudience)
  /// Our press was granted: send the kept frames, then the coming ones, under this token.
  case startTransmit(Token)
  /// Our token has a new turn; frames go on under it without a break.
  case renumberTransmit(Token)
  /// Send no more frames of this token.
  case stopTransmit(Token, StopReason)
  /// The key went up while we talk: finish the tail, then call `transmitFinished`.
  case finishTransmit(Token)
  /// The limit comes in ten seconds.
  case limitWarning
  /// The talker of a token goes on without a break under another turn.
  case talkerRenumbered(Token, to: Token)
  /// Somebody else talks: `token` is rendered from now on, nothing else.
  case talker(Token)
  /// The talker of `token` is done; what is buffered may still be played, up to `lastFrame`.
  case talkerDone(Token, lastFrame: UInt32)
  /// The talker of `token` must not be heard any more, not even what is buffered.
  case talkerCut(Token)
  /// The press waits behind others; `place` counts from 1.
  case queued(place: Int)
  /// The press was refused by the holder.
  case denied(DenyReason)
  /// The press found nobody who hears us.
  case unheard(UnheardReason)
  /// Persist that turns up to this one may be used, then call `turnsReserved`.
  case reserveTurns(through: UInt64)
}
