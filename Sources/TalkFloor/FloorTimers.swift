/// The timers of the floor; channel settings, since all members must agree (floor.md, "Timers").
package struct FloorTimers: Hashable, Sendable {
  /// After this a request goes to everyone, and is repeated.
  package var requestRepeat = Duration.milliseconds(20)
  /// How long a claim waits for a grant or an objection.
  package var claimWindow = Duration.milliseconds(100)
  /// How long a talking holder's token lives after its last first-hand packet.
  package var lease = Duration.milliseconds(250)
  /// A holder whose loop stood still this long must ask whether its token stands.
  package var fence = Duration.milliseconds(150)
  /// Between the claims of two waiting talkers after a crash.
  package var successorStep = Duration.milliseconds(30)
  /// Between repeats of a grant that the new holder has not yet used.
  package var grantRepeat = Duration.milliseconds(20)
  /// How often a grant is repeated.
  package var grantRepeats = 5
  /// When a release or cancel is sent, counted from the first.
  package var releaseRepeats = [Duration.zero, .milliseconds(20), .milliseconds(60)]
  /// How long an emergency waits for a lower class that does not answer.
  package var emergencyClaim = Duration.milliseconds(40)
  /// Between the heartbeats of a talking holder.
  package var talkingHeartbeat = Duration.milliseconds(200)
  /// Between the heartbeats of a talking holder that sends no voice.
  package var pauseHeartbeat = Duration.milliseconds(50)
  /// Between the first heartbeats of an idle keeper; doubles up to `idleHeartbeatLimit`.
  package var idleHeartbeat = Duration.milliseconds(200)
  /// Between the later heartbeats of an idle keeper.
  package var idleHeartbeatLimit = Duration.seconds(1)
  /// The longest burst.
  package var talkLimit = Duration.seconds(60)
  /// When the holder is warned that the limit comes.
  package var limitWarning = Duration.seconds(50)
  /// How long beyond the limit listeners go on rendering.
  package var limitGrace = Duration.seconds(1)
  /// A new press within this counts on against the limit of the last burst.
  package var limitMemory = Duration.milliseconds(1_500)
  /// The same as listeners reckon it: less, for they learn of the end later than the talker.
  package var limitMemoryOfListeners = Duration.seconds(1)
  /// How long a member waits for the keeper's answer to a request that it forwarded.
  package var forwardWait = Duration.milliseconds(40)
  /// How long a member stays between a holder and a waiting asker who have no session with each
  /// other; the asker's own repeats renew it.
  package var forwardMemory = Duration.seconds(3)
  /// For so long after it began to wait an outsider gives way to the members of the exchange; a
  /// pause of this length ends an exchange.
  package var hangTime = Duration.seconds(2)
  /// Between two steps towards a turn that is too high to be believed at once.
  package var jumpStep = Duration.milliseconds(20)
  /// How long after its lease a granter keeps a floor again that its new holder never used: longer
  /// than any way there and back.
  package var reclaim = Duration.seconds(1)
  /// After this a reserve of turns that did not reach the disk is asked for again; doubles up to
  /// `reserveRetryLimit`.
  package var reserveRetry = Duration.seconds(1)
  /// The longest wait between two tries to reserve turns.
  package var reserveRetryLimit = Duration.seconds(60)
  /// How fresh "I hear you" must be for a keeper to grant itself at once.
  package var hearsUsMemory = Duration.milliseconds(1_200)
  /// Between two objections to the same stale talker.
  package var staleInterval = Duration.milliseconds(100)
  /// How long voice may trail its release before it counts as stale rather than late.
  package var staleGrace = Duration.milliseconds(250)
  /// Windows without any answer after which a request ends as unheard: members that are slow, on a
  /// busy machine or a bad network, are not gone.
  package var windowsUnheard = 8
  /// How often a waiting talker assures the holder that it still waits.
  package var queuedRepeat = Duration.seconds(1)
  /// The longest tail between the key's release and the end of the burst.
  package var tailLimit = Duration.milliseconds(200)

  /// The defaults for a LAN.
  package init() {}
}
