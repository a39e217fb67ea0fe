package import TalkCore

extension WakePolicy {
  /// When `wake` wants to be called; nil when nothing is due.
  package var deadline: Instant? {
    var earliest: Instant?
    for place in bursts.indices {
      earliest = .earliest(earliest, bursts[at: place].nextTry)
      if !bursts[at: place].awaitsClip {
        earliest = .earliest(earliest, bursts[at: place].closes)
      }
    }
    for call in calls.values { earliest = .earliest(earliest, call.ends) }
    if !alerts.isEmpty { earliest = .earliest(earliest, alerts.entry(at: 0).key.time) }
    if !updates.isEmpty { earliest = .earliest(earliest, updates.entry(at: 0).key.time) }
    return earliest
  }

  /// Does what is due; calling it early does no harm.
  package mutating func wake(at time: WakeTime) {
    for id in Array(bursts.keys) {
      if let due = bursts[id]?.nextTry, due <= time.now { askApple(about: id, at: time) }
      if let closes = bursts[id]?.closes, closes <= time.now { close(id) }
    }
    for id in Array(calls.keys) {
      if let call = calls[id], call.ends <= time.now { endCall(id) }
    }
    while !alerts.isEmpty, alerts.entry(at: 0).key.time <= time.now {
      let (key, alert) = alerts.entry(at: 0)
      alerts[key] = nil
      emit(.alert(alert))
    }
    while !updates.isEmpty, updates.entry(at: 0).key.time <= time.now {
      let (key, channel) = updates.entry(at: 0)
      updates[key] = nil
      updateService(of: key.device, on: channel, at: time)
    }
  }

  /// Phones that the local wake did not bring, and pushes that another gateway left lying.
  private mutating func askApple(about id: BurstID, at time: WakeTime) {
    guard let place = bursts.index(of: id) else { return }
    let burst = bursts[at: place]
    bursts[at: place].nextTry = nil
    for index in burst.waits.indices {
      var (device, wait) = burst.waits.entry(at: index)
      guard case .waits(let until) = wait.told else { continue }
      if until <= time.now {
        emit(.push(order(.speak, to: device, about: id, burst, time)))
        wait.told = .ordered
      }
      note(device, wait, of: id)
    }
  }

  /// Nobody can hear the burst any more: who was to hear it and did not come has missed it.
  private mutating func close(_ id: BurstID) {
    guard let place = bursts.index(of: id), !bursts[at: place].awaitsClip else { return }
    bursts[at: place].waits.removeAll { _, wait in wait.came || wait.told == .byOther }
    bursts[at: place].nextTry = nil
    guard !bursts[at: place].waits.isEmpty else {
      bursts[id] = nil
      return
    }
    bursts[at: place].awaitsClip = true
    emit(.makeClip(id))
  }
}
