import TalkCore

/// Every bound of the provider connection, with where it comes from.
package enum ProviderLimits {
  /// A provider token is renewed at this age: Apple takes it for 60 minutes (gateway.md).
  package static let renewal = Duration.seconds(45 * 60)
  /// Apple takes a provider token for this long.
  package static let tokenLife = Duration.seconds(60 * 60)
  /// At most one new provider token in this time, for the whole team.
  package static let betweenTokens = Duration.seconds(20 * 60)

  /// A request unanswered for so long means that the connection is dead.
  package static let answer = Duration.seconds(3)
  /// A PING unanswered for so long means the same.
  package static let pong = Duration.seconds(5)
  /// A connection is asked for a sign of life after so long without traffic.
  package static let idle = Duration.seconds(60)
  /// A connection that is not up after so long counts as failed: two handshakes over a bad line.
  package static let dial = Duration.seconds(6)
  /// The next address of a name is tried after so long.
  package static let dialOneAddress = Duration.seconds(2)
  /// Waits between dials that failed: doubled from the first to the last.
  package static let redial = (first: Duration.milliseconds(250), last: Duration.seconds(30))

  /// A failing server is asked again at once while the burst is younger.
  package static let youngBurst = Duration.seconds(2)
  /// So many failures of the server in a row open the breaker.
  package static let breakerFailures = 5
  /// How long the breaker stays open: doubled from the first to the last.
  package static let breaker = (first: Duration.seconds(1), last: Duration.seconds(60))
  /// How long a device is left alone after "TooManyRequests": doubled from the first to the last.
  package static let device = (first: Duration.seconds(5), last: Duration.seconds(300))
  /// The most devices that are left alone at a time.
  package static let devices = 1_024
  /// A stopped provider lets one push through after so long, to see whether it was mended.
  package static let probe = Duration.seconds(5 * 60)

  /// The most pushes of one environment that wait or are on their way.
  package static let pushes = 16_384
  /// The most batches on their way to the provider's thread.
  package static let batches = 4_096
  /// The most connections that take requests, in one environment: one, and one to send again on.
  package static let active = 2
  /// The most connections, with those that only wait for their last answers.
  package static let connections = 6
  /// The most streams on one connection, whatever the server allows.
  package static let streams = 1_000
  /// How often one push is sent at most, when connections die under it.
  package static let sends = 4
  /// How often a push may be refused unprocessed (GOAWAY, REFUSED_STREAM) and sent again.
  package static let unprocessed = 16

  /// The longest device token in bytes: far above Apple's, below what fits a header.
  package static let tokenBytes = 1_024
  /// The longest collapse id in bytes (Apple).
  package static let collapseBytes = 64
  /// The most bytes of an answer's body that are kept.
  package static let answerBytes = 4_096
  /// The longest reason of Apple's that is shown.
  package static let reasonBytes = 64
  /// A clock that differs by more is worth a word.
  package static let skew: Int64 = 60
  /// The longest "retry-after" that is believed.
  package static let retryAfter = Duration.seconds(3_600)
}
