package import TalkCore

extension WakePolicy {
  // MARK: Missed voice

  /// The clip of a burst that phones missed is there, or there is none: they are told, each when
  /// its earlier clips have sounded.
  package mutating func clipReady(_ id: BurstID, duration: Duration?, at time: WakeTime) {
    guard let burst = bursts[id], burst.awaitsClip else { return }
    bursts[id] = nil
    for device in burst.waits.keys {
      guard let station = station(device), let level = channels[burst.channel]?.level else {
        continue
      }
      let due = max(time.now, station.nextAlert)
      change(device) { $0.nextAlert = due + max(duration ?? .zero, WakeLimits.plainAlert) }
      var order = order(.missedVoice, to: device, about: id, burst, time)
      order.notAfter = due + .seconds(3_600)
      let lowered = min(level, station.allowed)
      order.priority = lowered == .passive ? .considerate : .immediate
      let alert = AlertOrder(order: order, level: lowered, clip: duration)
      if due <= time.now {
        emit(.alert(alert))
      } else if alerts.isFull {
        refused += 1
      } else {
        alerts[Timed(time: due, device: device, burst: id)] = alert
      }
    }
  }

  // MARK: Service updates

  /// Name, image or status of a channel changed. Phones that are attached learn it over their
  /// legs; the others by a push, one at a time, urgent only as long as the budget lasts.
  package mutating func serviceChanged(_ channel: ChannelID, at time: WakeTime) {
    guard let stations = channels[channel]?.stations else { return }
    for place in stations.indices {
      let (device, station) = stations.entry(at: place)
      if !station.isAttached { updateService(of: device, on: channel, at: time) }
    }
  }

  mutating func updateService(of device: DeviceID, on channel: ChannelID, at time: WakeTime) {
    guard let station = station(device), !station.isAttached else { return }
    guard station.nextUpdate <= time.now else {
      // One that waits already will tell the newest state.
      let key = Timed(time: station.nextUpdate, device: device, burst: .none)
      if !updates.isFull || updates[key] != nil { updates[key] = channel } else { refused += 1 }
      return
    }
    // The generic cell rate algorithm, as in TalkSession's RateLimit.
    let interval = Duration.seconds(3_600) / WakeLimits.urgentUpdatesAnHour
    let start = max(station.updateBudget, time.now)
    let isUrgent = start - time.now <= interval * (WakeLimits.urgentUpdatesAnHour - 1)
    change(device) {
      $0.nextUpdate = time.now + WakeLimits.updateGap
      if isUrgent { $0.updateBudget = start + interval }
    }
    emit(
      .push(
        WakeOrder(
          device: device, channel: channel, kind: .serviceUpdate, burst: .none, speaker: nil,
          stamp: stamp(time), priority: isUrgent ? .immediate : .considerate, began: time.now,
          notAfter: time.now + WakeLimits.keep)))
  }

  // MARK: Calls

  /// Somebody calls one phone: it must ring. False when too many calls ring, the phone is unknown,
  /// or the call is known.
  @discardableResult
  package mutating func call(
    _ call: BurstID, to device: DeviceID, by caller: Speaker, at time: WakeTime
  ) -> Bool {
    guard let channel = homes[device], calls[call] == nil else { return false }
    guard !calls.isFull else {
      refused += 1
      return false
    }
    calls[call] = Call(device: device, ends: time.now + WakeLimits.ringing)
    emit(
      .push(
        WakeOrder(
          device: device, channel: channel, kind: .call, burst: call, speaker: caller,
          stamp: stamp(time), priority: .immediate, began: time.now,
          notAfter: time.now + WakeLimits.ringing)))
    return true
  }

  /// The caller hung up, or the phone answered. No push ends a call: Apple would want each of them
  /// to ring.
  package mutating func endCall(_ call: BurstID) {
    guard let ended = calls[call] else { return }
    calls[call] = nil
    emit(.cancel(ended.device, call))
  }
}
