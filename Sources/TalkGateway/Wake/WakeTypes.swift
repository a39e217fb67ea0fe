package import TalkCore

/// Both clocks at one moment: the machine's timers run on the first, phones compare the second.
package struct WakeTime: Hashable, Sendable {
  /// CLOCK_BOOTTIME.
  package var now: Instant
  /// Milliseconds since 1970; it may step back.
  package var wall: UInt64

  /// Makes a moment of its parts.
  package init(now: Instant, wall: UInt64) {
    (self.now, self.wall) = (now, wall)
  }
}

/// Who speaks.
package struct Speaker: Hashable, Sendable {
  /// The node.
  package var peer: PeerID
  /// The seat behind it: 0 is its own.
  package var seat: UInt16

  /// Makes a speaker of its parts.
  package init(peer: PeerID, seat: UInt16) {
    (self.peer, self.seat) = (peer, seat)
  }
}

/// One wake, self-contained: what a push or a local wake says.
package struct WakeOrder: Hashable, Sendable {
  /// To which phone.
  package var device: DeviceID
  /// On which mesh channel.
  package var channel: ChannelID
  /// What it says.
  package var kind: Push.Kind
  /// What it is about: a burst, or the id of a call; `none` for leave and service update.
  package var burst: BurstID
  /// Who speaks or calls.
  package var speaker: Speaker?
  /// Milliseconds since 1970, and higher than of every order before: a phone drops what is older
  /// than what it knows.
  package var stamp: UInt64
  /// How urgent Apple should take it.
  package var priority: Push.Priority
  /// When what it is about began.
  package var began: Instant
  /// Not to be sent after this.
  package var notAfter: Instant
}

/// A missed voice: what was said, and how loudly the phone may say so.
package struct AlertOrder: Hashable, Sendable {
  /// The push itself.
  package var order: WakeOrder
  /// The lower of what the channel wants and what the phone allows.
  package var level: InterruptionLevel
  /// How long the clip lasts; nil when there is none.
  package var clip: Duration?
}

/// What a wake policy wants done; nothing of it waits for anything.
package enum WakeEffect: Hashable, Sendable {
  /// Tell the phone over the local network that somebody talks.
  case localWake(WakeOrder)
  /// Claim the push in the registry, say the outcome (`claimed`), send it if it is ours.
  case push(WakeOrder)
  /// Do not send the push about this burst or call if it has not left; a call that rings is ended
  /// over the leg, never by a push.
  case cancel(DeviceID, BurstID)
  /// Somebody missed this burst: cut a clip of it, then call `clipReady`.
  case makeClip(BurstID)
  /// Claim and send a visible notification.
  case alert(AlertOrder)
}

/// Times and limits of the wake policy (gateway.md; those that it does not name are our choice).
package enum WakeLimits {
  /// Phones of a channel: one for each seat.
  package static let phones = Int(UInt16.max)
  /// Channels, as many as a node may have.
  package static let channels = 32
  /// Bursts that run, or ended less than `keep` ago, over all channels.
  package static let bursts = 512
  /// Calls that ring.
  package static let calls = 64
  /// Alerts and service updates that wait for their time.
  package static let waiting = 65_536

  /// How long after the local wake Apple is asked, unless the phone came. A round trip on Wi-Fi
  /// with its power saving (100 ms beacons) fits in.
  package static let localWait = Duration.milliseconds(150)
  /// When a claim that another gateway took and did not use is tried again.
  package static let claimRetry = RegistryTimes.takeOver + .milliseconds(100)
  /// How long after its end a burst is kept for phones that come late.
  package static let keep = Duration.seconds(30)
  /// The least pause between two service updates to one phone.
  package static let updateGap = Duration.seconds(30)
  /// Service updates to one phone that may be urgent: so many at once, and as many an hour. Apple
  /// keeps its own number to itself.
  package static let urgentUpdatesAnHour = 6
  /// How long a call rings.
  package static let ringing = Duration.seconds(45)
  /// What an alert without a clip counts as: so that two never sound at once.
  package static let plainAlert = Duration.seconds(1)
}
