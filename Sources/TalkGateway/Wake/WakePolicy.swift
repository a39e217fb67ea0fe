package import TalkCore

/// Decides which phone is woken when, how, and who is told that it missed something: a machine
/// without I/O and clock.
///
/// How to drive it: tell channels and phones from the registry (`setChannel`, `setPhone`); tell
/// bursts as the floor has them (`granted` at the grant, `ended`), phones as their legs have them
/// (`attached`, `setForeground`, `detached`, `asksForFloor`, `leftFloor`), and outcomes (`claimed`,
/// `sent`, `clipReady`); call `wake` at `deadline`. After each call perform all of `takeEffects`.
///
/// The rules (gateway.md): a push at the start of every burst; none to a phone in the foreground;
/// none to one that speaks, holds or asks for the floor, since a participant set while
/// transmitting is an error there. A phone that can be reached over the local network is woken so
/// first, and by Apple only if it does not come. Every order stands alone and has a rising stamp.
/// What a burst costs is linear in the phones of its channel. Where things are: bursts in
/// `+Bursts`, alerts, service updates and calls in `+Notices`, timers in `+Wake`.
package struct WakePolicy {
  /// What is known of a phone.
  struct Station {
    var seat: UInt16
    var allowed: InterruptionLevel
    var isAttached = false
    var isForeground = false
    var wantsFloor = false
    var hasLocalPath = false
    /// When its next alert may sound.
    var nextAlert = Instant.zero
    /// When its next service update may leave, and when its budget would be whole again.
    var nextUpdate = Instant.zero
    var updateBudget = Instant.zero
  }

  struct ChannelState {
    var level: InterruptionLevel
    var stations = OrderedTable<DeviceID, Station>(limit: WakeLimits.phones)
  }

  /// What a phone was told of a burst.
  enum Told: Hashable {
    /// A push is to be asked of Apple then, unless it comes.
    case waits(until: Instant)
    /// A push was ordered; whether it has left is not known.
    case ordered
    /// The push has left.
    case sent
    /// Another gateway pushes; it has the phone's answer, too.
    case byOther
    /// It needs none: it speaks, wants to, or is in the foreground.
    case spared
    /// It can't be told: no token.
    case unreachable
  }

  struct Wait {
    var told: Told
    /// True once the phone was there.
    var came: Bool
  }

  struct Burst {
    let channel: ChannelID
    let speaker: Speaker
    let began: Instant
    var closes: Instant?
    /// True once a clip was asked for; what is left are the phones that miss it.
    var awaitsClip = false
    var waits: OrderedTable<DeviceID, Wait>
    /// The earliest of the times in `waits`.
    var nextTry: Instant?
  }

  struct Call {
    var device: DeviceID
    var ends: Instant
  }

  /// A thing with its time, so that a table has the next one first.
  struct Timed: Comparable {
    var time: Instant
    var device: DeviceID
    var burst: BurstID

    static func < (left: Timed, right: Timed) -> Bool {
      (left.time, left.device, left.burst) < (right.time, right.device, right.burst)
    }
  }

  /// This gateway's own node: bursts from its seats are of its phones.
  let gateway: PeerID
  var channels = OrderedTable<ChannelID, ChannelState>(limit: WakeLimits.channels)
  /// Where a phone is found; never walked through, since a dictionary's order differs per process.
  var homes: [DeviceID: ChannelID] = [:]
  var bursts = OrderedTable<BurstID, Burst>(limit: WakeLimits.bursts)
  /// The burst that runs on a channel.
  var running = OrderedTable<ChannelID, BurstID>(limit: WakeLimits.channels)
  var calls = OrderedTable<BurstID, Call>(limit: WakeLimits.calls)
  var alerts = OrderedTable<Timed, AlertOrder>(limit: WakeLimits.waiting)
  var updates = OrderedTable<Timed, ChannelID>(limit: WakeLimits.waiting)
  private var effects: [WakeEffect] = []
  private var lastStamp: UInt64 = 0
  /// How many things were left undone because a table was full.
  package internal(set) var refused = 0

  /// A policy without phones.
  package init(gateway: PeerID) {
    self.gateway = gateway
  }

  /// What is to be done, in order; empty afterwards. At most some orders for each phone of the
  /// channel that the last call was about.
  package mutating func takeEffects() -> [WakeEffect] {
    defer { effects.removeAll() }
    return effects
  }

  mutating func emit(_ effect: WakeEffect) { effects.append(effect) }

  /// A time for phones that rises even when the clock steps back.
  mutating func stamp(_ time: WakeTime) -> UInt64 {
    lastStamp = max(time.wall, lastStamp + 1)
    return lastStamp
  }

  // MARK: Channels and phones

  /// Adds a channel, or changes how loud a missed voice may be. False when there are too many.
  @discardableResult
  package mutating func setChannel(_ channel: ChannelID, level: InterruptionLevel) -> Bool {
    if let index = channels.index(of: channel) {
      channels[at: index].level = level
      return true
    }
    guard !channels.isFull else {
      refused += 1
      return false
    }
    channels[channel] = ChannelState(level: level)
    return true
  }

  /// Adds a phone of a known channel, asleep, or changes its seat and what it allows; thousands
  /// are taken fastest in the order of their ids. False when the channel is unknown or full.
  @discardableResult
  package mutating func setPhone(
    _ device: DeviceID, channel: ChannelID, seat: UInt16, allowed: InterruptionLevel
  ) -> Bool {
    guard let index = channels.index(of: channel) else { return false }
    if let old = homes[device], old != channel { forget(device) }
    if let place = channels[at: index].stations.index(of: device) {
      channels[at: index].stations[at: place].seat = seat
      channels[at: index].stations[at: place].allowed = allowed
      return true
    }
    guard !channels[at: index].stations.isFull else {
      refused += 1
      return false
    }
    channels[at: index].stations[device] = Station(seat: seat, allowed: allowed)
    homes[device] = channel
    return true
  }

  /// A phone is removed: it is told to leave its channel, and nothing else any more.
  package mutating func removePhone(_ device: DeviceID, at time: WakeTime) {
    guard let channel = homes[device] else { return }
    cancelOrders(to: device)
    forget(device)
    emit(
      .push(
        WakeOrder(
          device: device, channel: channel, kind: .leave, burst: .none, speaker: nil,
          stamp: stamp(time), priority: .immediate, began: time.now,
          notAfter: time.now + WakeLimits.keep)))
  }

  private mutating func forget(_ device: DeviceID) {
    guard let channel = homes[device], let index = channels.index(of: channel) else { return }
    channels[at: index].stations[device] = nil
    homes[device] = nil
    for place in bursts.indices { bursts[at: place].waits[device] = nil }
    alerts.removeAll { key, _ in key.device == device }
    updates.removeAll { key, _ in key.device == device }
    calls.removeAll { _, call in call.device == device }
  }

  /// A phone can be reached over the local network (NEAppPushProvider runs), or no longer.
  package mutating func setLocalPath(_ device: DeviceID, _ hasPath: Bool) {
    change(device) { $0.hasLocalPath = hasPath }
  }

  /// The phone's person allows another loudness.
  package mutating func setAllowed(_ device: DeviceID, _ level: InterruptionLevel) {
    change(device) { $0.allowed = level }
  }

  mutating func change(_ device: DeviceID, _ body: (inout Station) -> Void) {
    guard let channel = homes[device], let index = channels.index(of: channel),
      let place = channels[at: index].stations.index(of: device)
    else { return }
    body(&channels[at: index].stations[at: place])
  }

  func station(_ device: DeviceID) -> Station? {
    homes[device].flatMap { channels[$0] }?.stations[device]
  }

  /// Orders that may not have left yet are taken back.
  mutating func cancelOrders(to device: DeviceID) {
    for place in bursts.indices {
      guard let wait = bursts[at: place].waits.index(of: device),
        bursts[at: place].waits[at: wait].told == .ordered
      else { continue }
      emit(.cancel(device, bursts.entry(at: place).key))
    }
  }
}
