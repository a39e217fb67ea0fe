package import TalkCore

extension WakePolicy {
  /// Somebody was granted the floor of a channel: wake its phones. A burst that runs there already
  /// is over.
  package mutating func granted(
    _ burst: BurstID, channel: ChannelID, speaker: Speaker, at time: WakeTime
  ) {
    guard let index = channels.index(of: channel), bursts[burst] == nil else { return }
    if let old = running[channel] { ended(old, at: time) }
    guard makeRoom() else {
      refused += 1
      return
    }
    dropWaits(on: channel)
    bursts[burst] = Burst(
      channel: channel, speaker: speaker, began: time.now, waits: OrderedTable(limit: .max))
    running[channel] = burst
    let stations = channels[at: index].stations
    for place in stations.indices {
      let (device, station) = stations.entry(at: place)
      let told = wakeIfNeeded(device, station, burst, time)
      note(device, Wait(told: told, came: station.isAttached || told == .spared), of: burst)
    }
  }

  /// The newer burst's orders say all that an older one's would, so those that wait need not
  /// leave.
  private mutating func dropWaits(on channel: ChannelID) {
    for place in bursts.indices where bursts[at: place].channel == channel {
      guard bursts[at: place].nextTry != nil else { continue }
      bursts[at: place].nextTry = nil
      for wait in bursts[at: place].waits.indices {
        if case .waits = bursts[at: place].waits[at: wait].told {
          bursts[at: place].waits[at: wait].told = .sent
        }
      }
    }
  }

  /// The oldest burst that ended gives way.
  private mutating func makeRoom() -> Bool {
    guard bursts.isFull else { return true }
    let ended = bursts.indices.filter { bursts[at: $0].closes != nil }
    guard let oldest = ended.min(by: { bursts[at: $0].closes! < bursts[at: $1].closes! }) else {
      return false
    }
    bursts[bursts.entry(at: oldest).key] = nil
    refused += 1
    return true
  }

  /// Wakes one phone as it can be woken, and says what was done.
  private mutating func wakeIfNeeded(
    _ device: DeviceID, _ station: Station, _ id: BurstID, _ time: WakeTime
  ) -> Told {
    guard let burst = bursts[id] else { return .spared }
    let speaks = burst.speaker == Speaker(peer: gateway, seat: station.seat)
    if speaks || station.wantsFloor || station.isAttached && station.isForeground {
      return .spared
    }
    let order = order(.speak, to: device, about: id, burst, time)
    guard station.hasLocalPath else {
      emit(.push(order))
      return .ordered
    }
    emit(.localWake(order))
    return .waits(until: time.now + WakeLimits.localWait)
  }

  mutating func order(
    _ kind: Push.Kind, to device: DeviceID, about id: BurstID, _ burst: Burst, _ time: WakeTime
  ) -> WakeOrder {
    WakeOrder(
      device: device, channel: burst.channel, kind: kind, burst: id, speaker: burst.speaker,
      stamp: stamp(time), priority: .immediate, began: burst.began,
      // A burst that is over is still kept for whom it wakes, but for no longer than that.
      notAfter: burst.closes ?? time.now + WakeLimits.keep)
  }

  mutating func note(_ device: DeviceID, _ wait: Wait, of id: BurstID) {
    guard let place = bursts.index(of: id) else { return }
    bursts[at: place].waits[device] = wait
    if case .waits(let until) = wait.told {
      bursts[at: place].nextTry = .earliest(bursts[at: place].nextTry, until)
    }
  }

  /// The burst is over; it stays for phones that come late. Pushes that wait still leave: the
  /// phone then hears it from the gateway's memory.
  package mutating func ended(_ id: BurstID, at time: WakeTime) {
    guard let place = bursts.index(of: id), bursts[at: place].closes == nil else { return }
    bursts[at: place].closes = time.now + WakeLimits.keep
    if running[bursts[at: place].channel] == id { running[bursts[at: place].channel] = nil }
  }

  /// What the registry said to a push that was ordered.
  package mutating func claimed(
    _ device: DeviceID, _ id: BurstID, _ outcome: ClaimOutcome, now: Instant
  ) {
    guard let place = bursts.index(of: id), var wait = bursts[at: place].waits[device],
      wait.told == .ordered
    else { return }
    switch outcome {
    case .won: return
    case .lost(sent: true): wait.told = .byOther
    case .lost(sent: false): wait.told = .waits(until: now + WakeLimits.claimRetry)
    case .noToken: wait.told = .unreachable
    }
    note(device, wait, of: id)
  }

  /// The push has left.
  package mutating func sent(_ device: DeviceID, _ id: BurstID) {
    guard let place = bursts.index(of: id), let wait = bursts[at: place].waits.index(of: device),
      bursts[at: place].waits[at: wait].told == .ordered
    else { return }
    bursts[at: place].waits[at: wait].told = .sent
  }

  // MARK: Phones come and go

  /// A phone's leg is up: it hears every burst that is kept, and needs no more waking for those
  /// that it was woken for over the local network.
  package mutating func attached(_ device: DeviceID, foreground: Bool, at time: WakeTime) {
    change(device) {
      $0.isAttached = true
      $0.isForeground = foreground
    }
    for place in bursts.indices {
      guard let wait = bursts[at: place].waits.index(of: device) else { continue }
      bursts[at: place].waits[at: wait].came = true
      if case .waits = bursts[at: place].waits[at: wait].told {
        bursts[at: place].waits[at: wait].told = .spared
      }
    }
  }

  /// The app came to the foreground or went to the background.
  package mutating func setForeground(_ device: DeviceID, _ foreground: Bool) {
    change(device) { $0.isForeground = foreground }
  }

  /// The phone's leg is gone: it sleeps, holds nothing, and is in no foreground.
  package mutating func detached(_ device: DeviceID) {
    change(device) {
      $0.isAttached = false
      $0.isForeground = false
      $0.wantsFloor = false
    }
  }

  /// The phone asks for the floor: what was ordered for it is taken back if it can be.
  package mutating func asksForFloor(_ device: DeviceID) {
    change(device) { $0.wantsFloor = true }
    cancelOrders(to: device)
    for place in bursts.indices {
      guard let wait = bursts[at: place].waits.index(of: device) else { continue }
      switch bursts[at: place].waits[at: wait].told {
      case .waits, .ordered: bursts[at: place].waits[at: wait].told = .spared
      case .sent, .byOther, .spared, .unreachable: break
      }
    }
  }

  /// The phone neither holds nor asks for the floor any more, and its leg has told it so. If
  /// another speaks meanwhile, it is woken for that now.
  package mutating func leftFloor(_ device: DeviceID, at time: WakeTime) {
    guard station(device)?.wantsFloor == true else { return }
    change(device) { $0.wantsFloor = false }
    guard let channel = homes[device], let id = running[channel],
      let wait = bursts[id]?.waits[device], wait.told == .spared,
      let station = station(device)
    else { return }
    let told = wakeIfNeeded(device, station, id, time)
    note(device, Wait(told: told, came: station.isAttached), of: id)
  }
}
