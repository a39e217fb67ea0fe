import TalkCore

/// Times and limits of phone legs (gateway.md, "The phone leg"; the rest is our choice).
package enum LegLimits {
  /// Phones that are attached at once.
  package static let legs = 1_024
  /// ATTACHes that wait for the registry.
  package static let pending = 256
  /// How long they wait.
  package static let pendingTime = Duration.seconds(5)
  /// ATTACHes a second in all, and how many at once. One that must be opened costs two X25519.
  package static let attaches = (rate: 200, burst: 200)
  /// Events that wait for the shell.
  package static let events = 4_096
  /// Datagrams that wait to be sent.
  package static let outgoing = 4_096

  /// Before a phone has shown that it is where it says, it is sent at most so many times what it
  /// sent (as RFC 9000, section 8.1).
  package static let amplification = 3
  /// How long a leg may take from the answer to the first sealed datagram of the phone.
  package static let confirmTime = Duration.seconds(5)
  /// Pause after which the phone and the gateway say that they are there.
  package static let keepalive = Duration.seconds(15)
  /// A phone that says nothing for so long sleeps: two keepalives may be lost.
  package static let silence = Duration.seconds(40)
  /// A phone that holds or wants the floor and says nothing for so long has lost it.
  package static let floorSilence = Duration.seconds(2)
  /// How long a phone that was cut off may take to say that it knows, before it is sent voice.
  package static let toldWait = Duration.milliseconds(500)

  /// How much faster than it was spoken a burst may be sent.
  package static let pace = 8
  /// Frames that a live packet repeats, and how far apart (voice.md): two copies, 40 ms apart.
  package static let copies = 2
  /// Frames between a frame and its copy.
  package static let copyDistance: UInt8 = 2
  /// A frame that is missing here is passed over once so many newer ones have come.
  package static let passedOver: UInt32 = 10
  /// How long after a burst's end its last frames may still come.
  package static let lateFrames = Duration.milliseconds(200)
  /// The least pause before a frame is sent again.
  package static let resendPause = Duration.milliseconds(120)
  /// Frames that wait to be sent again.
  package static let resends = 64
  /// Pauses between repeats of what must be acknowledged; the last one repeats.
  package static let repeatPauses: [Duration] = [
    .milliseconds(60), .milliseconds(120), .milliseconds(240), .milliseconds(500),
  ]
  /// How often what must be acknowledged is said.
  package static let repeats = 12
  /// How often a burst's end is said before the next burst may begin.
  package static let endRepeats = 3
  /// How often a new address is challenged.
  package static let challenges = 4
}
