/// Times and limits of sessions; all from session.md, "Life of a session" and "Floods", unless said
/// otherwise.
package enum SessionLimits {
  /// Channels of a node.
  package static let channels = 32
  /// Established peers over all channels; a roster has at most 1,024 members.
  package static let links = 4_096
  /// Sessions in every stage: each link may have a current and a draining one, and handshakes.
  package static let sessions = 3 * links
  /// Endpoints that are being dialed.
  package static let dials = 1_024
  /// Results that wait for the node; no call writes more than a few, `wake` stops short of it.
  package static let events = 1_024
  /// Datagrams that wait to be sent; what finds no room is repeated by its timer.
  package static let outgoing = 2_048
  /// Admits of one's own chain.
  package static let chain = 8

  /// Handshakes of others that have not proved who they are.
  package static let halfOpen = 256
  /// The same from one source.
  package static let halfOpenPerSource = 8
  /// The same from one endpoint for one channel, and attempts of ours to one endpoint: each retry
  /// has a fresh ephemeral key, and on a slow path the answer to an earlier one still counts.
  package static let attemptsKept = 3
  /// How long an unanswered handshake is kept.
  package static let halfOpenTime = Duration.seconds(10)
  /// INITs a second from one source, and how many at once.
  package static let initiationsPerSource = (rate: 20, burst: 5)
  /// INITs a second in all, and how many at once.
  package static let initiations = (rate: 50, burst: 50)
  /// Sources whose rate is watched.
  package static let sources = 1_024

  /// How long the side with the larger boot instance waits before it dials.
  package static let secondSideWait = Duration.milliseconds(300)
  /// Pauses after each INIT; the last one repeats.
  package static let retryPauses: [Duration] = [
    .milliseconds(100), .milliseconds(200), .milliseconds(400), .seconds(1), .seconds(2),
    .seconds(5),
  ]
  /// How long an endpoint is dialed.
  package static let dialTime = Duration.seconds(90)
  /// Pauses between repeats of FINAL, AUTH and ADMITs; the last one repeats, so that half of all
  /// datagrams may be lost.
  package static let introductionPauses: [Duration] = [
    .milliseconds(100), .milliseconds(200), .milliseconds(400),
  ]
  /// How long a session may take from its keys to the proof of who is there.
  package static let verifyTime = Duration.seconds(5)

  /// When the initiator makes new keys, ±10 %.
  package static let rekeyTime = Duration.seconds(300)
  /// How long a burst can put that off.
  package static let rekeyTimeInBurst = Duration.seconds(600)
  /// When the initiator makes new keys by number of datagrams, ±10 %.
  package static let rekeyCounter: UInt64 = 1 << 40
  /// How long an attempt at new keys that failed waits for the next.
  package static let rekeyPause = Duration.seconds(5)
  /// When keys are good for nothing any more.
  package static let rejectTime = Duration.seconds(900)
  /// How long replaced keys still receive.
  package static let drainTime = Duration.seconds(30)
  /// How long both of two crossed sessions receive.
  package static let crossedTime = Duration.seconds(10)
  /// Two handshakes count as crossed when the second began at most this long after the first was
  /// done: about a round trip, in which the other side can't have known (our choice).
  package static let crossedMargin = Duration.seconds(1)
  /// A link that was heard within this time needs no second handshake (mesh.md: "away" at 3.5 s).
  package static let liveTime = Duration.milliseconds(3_500)
}
