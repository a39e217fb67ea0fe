package import TalkCore
import TalkWire

extension LegTable {
  /// A phone's key is down, said in ATTACH or later, and again while it waits.
  mutating func ask(_ leg: Leg, _ request: PhoneRequest, now: Instant) {
    if let floor = leg.floor {
      guard floor.request.number < request.number else {
        if floor.request.number == request.number { leg.floor?.lastHeard = now }
        return
      }
      // A new press: the old one is over, whatever became of it.
      emit(.floorLost(leg.device, number: floor.request.number))
    }
    leg.floor = LegFloor(request: request, lastHeard: now)
    emit(.floorRequest(leg.device, request))
  }

  /// The mesh's word on a phone's request. An end or a pre-emption is told before the phone hears
  /// anybody: voice waits for its word, or for `LegLimits.toldWait`.
  package mutating func tell(
    _ device: DeviceID, number: UInt32, _ state: PhoneFloor, slab: Slab, now: Instant
  ) {
    guard let leg = leg(of: device), var floor = leg.floor, floor.request.number == number,
      floor.state != state
    else { return }
    floor.state = state
    floor.tell = Repeater()
    floor.lastHeard = now
    if state.mustBeTold { floor.toldSince = now }
    leg.floor = floor
    sayFloor(leg, slab: slab, now: now)
  }

  mutating func sayFloor(_ leg: Leg, slab: Slab, now: Instant) {
    guard let floor = leg.floor, let state = floor.state, var tell = floor.tell, tell.due <= now
    else { return }
    guard !tell.isExhausted else {
      leg.floor?.tell = nil
      return
    }
    guard
      send(.floor(number: floor.request.number, state), over: leg, slab: slab, now: now)
    else { return }
    tell.said(now: now)
    leg.floor?.tell = tell
  }

  /// The phone knows: what is over for it can be forgotten.
  mutating func told(_ leg: Leg, _ number: UInt32, _ state: UInt8) {
    guard let floor = leg.floor, floor.request.number == number, floor.state?.number == state
    else { return }
    leg.floor?.tell = nil
    switch floor.state {
    case .ended?, .preempted?: forgetFloor(leg)
    case .refused?: leg.floor = nil
    case .queued?, .granted?, nil: break
    }
  }

  private mutating func forgetFloor(_ leg: Leg) {
    guard let floor = leg.floor else { return }
    leg.floor = nil
    emit(.floorTold(leg.device, number: floor.request.number))
  }

  /// The phone's key is up. It is answered even when it is known: the phone repeats it until then.
  mutating func release(
    _ leg: Leg, _ number: UInt32, lastFrame: UInt32, slab: Slab, now: Instant
  ) {
    if let floor = leg.floor, floor.request.number == number {
      let wasOver = floor.state?.mustBeTold ?? false
      leg.floor = nil
      if !wasOver {
        emit(.floorRelease(leg.device, number: number, lastFrame: lastFrame))
      }
      // It let go by itself, so it knows.
      emit(.floorTold(leg.device, number: number))
    }
    send(.floor(number: number, .ended), over: leg, slab: slab, now: now)
  }

  /// Voice counts from a phone that was granted this turn, from its own seat.
  mutating func receiveVoice(_ leg: Leg, _ datagram: RawSpan, _ place: Range<Int>, now: Instant) {
    var reader = ByteReader(datagram.extracting(place))
    guard let header = VoiceHeader(from: &reader),
      header.frameSize(bodyCount: place.count) != nil, header.seat == leg.seat,
      case .granted(turn: header.turn)? = leg.floor?.state
    else {
      counts.unusable += 1
      return
    }
    leg.floor?.lastHeard = now
    emit(.voice(leg.device, body: place))
  }

  /// A phone that holds or wants the floor must be heard.
  mutating func wakeFloor(_ leg: Leg, slab: Slab, now: Instant) {
    guard let floor = leg.floor else { return }
    if let since = floor.toldSince {
      if since + LegLimits.toldWait <= now { return forgetFloor(leg) }
    } else if floor.lastHeard + LegLimits.floorSilence <= now {
      leg.floor = nil
      emit(.floorLost(leg.device, number: floor.request.number))
      // In case it is still there, it must not talk on.
      send(
        .floor(number: floor.request.number, .ended), over: leg, slab: slab, now: now)
      return
    }
    sayFloor(leg, slab: slab, now: now)
  }
}
