package import TalkCore
import TalkWire

extension LegTable {
  /// Something of a channel's bursts changed: sends its phones what their pace allows now.
  package mutating func pump(
    _ channel: ChannelID, bursts: BurstBuffer, now: Instant, slab: Slab
  ) {
    for leg in Array(legs.values) where leg.channel == channel {
      pump(leg, bursts: bursts, now: now, slab: slab)
    }
  }

  /// The next burst for a phone: never its own voice.
  func nextBurst(
    _ channel: ChannelID, _ seat: UInt16, after order: UInt64, _ bursts: BurstBuffer, now: Instant
  ) -> KeptBurst? {
    for id in bursts.bursts(on: channel, now: now) {
      guard let burst = bursts[id], burst.order > order else { continue }
      if burst.token.holder != peer || burst.token.seat != seat { return burst }
    }
    return nil
  }

  static func note(_ burst: KeptBurst) -> LegMessage {
    .burst(
      burst.id, turn: burst.token.turn, seat: burst.token.seat, floorClass: burst.floorClass,
      length: burst.frameLength, name: burst.name)
  }

  mutating func pump(_ leg: Leg, bursts: BurstBuffer, now: Instant, slab: Slab) {
    guard !leg.mustBeQuiet else { return }
    (leg.waitsForPace, leg.endsAt) = (false, nil)
    advance(leg, bursts, now: now)
    guard leg.stream != nil else { return }
    guard let burst = leg.stream.flatMap({ bursts[$0.burst] }) else {
      // Its time is over, or it was given up: what was sent was all.
      leg.stream?.note = nil
      end(leg, lastFrame: leg.stream.flatMap { $0.next > 0 ? $0.next - 1 : nil })
      sayEnd(leg, now: now, slab: slab)
      return
    }
    sayNote(leg, burst, now: now, slab: slab)
    sendFrames(leg, burst, now: now, slab: slab)
    endIfAllIsSent(leg, burst, now: now)
    sayEnd(leg, now: now, slab: slab)
  }

  /// A burst ends for a phone with its last frame, or, when that one does not come, with what did:
  /// the mesh may have lost it.
  private func endIfAllIsSent(_ leg: Leg, _ burst: KeptBurst, now: Instant) {
    guard let ended = burst.ended, let stream = leg.stream, stream.end == nil else { return }
    guard let last = ended.lastFrame else { return end(leg, lastFrame: nil) }
    if stream.next > last { return end(leg, lastFrame: last) }
    guard stream.next >= burst.frameCount else { return }
    let patience = ended.at + LegLimits.lateFrames
    guard patience <= now else {
      leg.endsAt = patience
      return
    }
    end(leg, lastFrame: burst.frameCount > 0 ? burst.frameCount - 1 : nil)
  }

  /// Goes to the next burst when this one is done, or was told its end often enough.
  private func advance(_ leg: Leg, _ bursts: BurstBuffer, now: Instant) {
    if let stream = leg.stream {
      let isTold = stream.end.map { $0.count >= LegLimits.endRepeats } ?? false
      guard stream.isDone || isTold else { return }
    }
    guard let next = nextBurst(leg.channel, leg.seat, after: leg.lastOrder, bursts, now: now)
    else {
      if leg.stream?.isDone == true { leg.stream = nil }
      return
    }
    leg.stream = Stream(next, from: 0)
    leg.lastOrder = next.order
  }

  private func end(_ leg: Leg, lastFrame: UInt32?) {
    guard leg.stream?.end == nil else { return }
    leg.stream?.lastFrame = lastFrame
    leg.stream?.end = Repeater()
  }

  private mutating func sayNote(_ leg: Leg, _ burst: KeptBurst, now: Instant, slab: Slab) {
    guard var note = leg.stream?.note, note.due <= now, !note.isExhausted else { return }
    guard send(Self.note(burst), over: leg, slab: slab, now: now) else { return }
    note.said(now: now)
    leg.stream?.note = note
  }

  private mutating func sayEnd(_ leg: Leg, now: Instant, slab: Slab) {
    guard let stream = leg.stream, var end = stream.end, !stream.isDone, end.due <= now else {
      return
    }
    guard !end.isExhausted else {
      leg.stream?.isDone = true
      return
    }
    let frame = stream.lastFrame ?? AttachBody.noFrame
    guard send(.burstEnd(stream.burst, lastFrame: frame), over: leg, slab: slab, now: now) else {
      return
    }
    end.said(now: now)
    leg.stream?.end = end
  }

  /// Sends what the pace allows: frames that the phone misses, then new ones, many in a packet
  /// while it is behind; a live frame goes with copies of older ones.
  private mutating func sendFrames(_ leg: Leg, _ burst: KeptBurst, now: Instant, slab: Slab) {
    let room = Datagrams.limit - DataDatagram.overhead - Plaintext.headerSize
    while leg.nextFrames <= now, var stream = leg.stream {
      if let first = stream.resends.first {
        let run = stream.resends.enumerated().prefix { $0.element == first + UInt32($0.offset) }
        let packet = voice(burst, from: first, room: room, most: min(run.count, 16))
        stream.resends.removeFirst(packet?.count ?? 1)
        if stream.resends.isEmpty { stream.resendDue = now + LegLimits.resendPause }
        leg.stream = stream
        if let packet { send(leg, packet, burst, now: now, slab: slab) }
        continue
      }
      passOver(&stream, burst)
      guard let packet = voice(burst, from: stream.next, room: room) else {
        leg.stream = stream
        return
      }
      let isLive = stream.next + UInt32(packet.count) == burst.frameCount && packet.count <= 2
      let sent =
        isLive
        ? sendLive(leg, burst, from: stream.next, count: packet.count, now: now, slab: slab)
        : send(leg, packet, burst, now: now, slab: slab)
      guard sent else { return }
      stream.next += UInt32(packet.count)
      leg.stream = stream
    }
    leg.waitsForPace = true
  }

  /// A frame that never came must not hold up those behind it.
  private func passOver(_ stream: inout Stream, _ burst: KeptBurst) {
    while stream.next < burst.frameCount, !burst.contains(stream.next),
      burst.ended != nil || burst.frameCount - stream.next > LegLimits.passedOver
    {
      stream.next += 1
    }
  }

  @discardableResult
  private mutating func send(
    _ leg: Leg, _ packet: (body: [UInt8], count: Int), _ burst: KeptBurst, now: Instant,
    slab: Slab
  ) -> Bool {
    guard
      send(
        kind: LegMessage.voiceKind, packet.body, over: leg, padded: false, slab: slab, now: now)
    else { return false }
    let step = burst.frameLength.duration * packet.count / LegLimits.pace
    leg.nextFrames = max(leg.nextFrames, now - step) + step
    return true
  }

  /// Newest frames, each in a packet with copies of those 40 and 80 ms older.
  private mutating func sendLive(
    _ leg: Leg, _ burst: KeptBurst, from first: UInt32, count: Int, now: Instant, slab: Slab
  ) -> Bool {
    for number in first..<first + UInt32(count) {
      guard let newest = burst.frame(number) else { return false }
      var frames = Array(newest)
      var copies = 1
      while copies <= LegLimits.copies {
        let distance = UInt32(copies) * UInt32(LegLimits.copyDistance)
        guard number >= distance, let copy = burst.frame(number - distance),
          copy.count == newest.count
        else { break }
        frames += copy
        copies += 1
      }
      let header = Self.header(
        burst, sequence: number, count: copies,
        distance: copies > 1 ? LegLimits.copyDistance : 0)
      let packet = (body: Self.body(header, frames), count: 1)
      guard send(leg, packet, burst, now: now, slab: slab) else { return false }
    }
    return true
  }

  /// As many frames from `first` on, one behind the other and equally long, as fit into `room`
  /// bytes; nil when the first one is not there.
  func voice(
    _ burst: KeptBurst, from first: UInt32, room: Int, most: Int = VoiceHeader.frameLimit
  ) -> (body: [UInt8], count: Int)? {
    guard let size = burst.frame(first)?.count, VoiceHeader.size + size <= room else { return nil }
    var frames: [UInt8] = []
    var count = 0
    while count < most, VoiceHeader.size + frames.count + size <= room,
      let frame = burst.frame(first + UInt32(count)), frame.count == size
    {
      frames += frame
      count += 1
    }
    let header = Self.header(burst, sequence: first, count: count, distance: 0)
    return (Self.body(header, frames), count)
  }

  private static func header(
    _ burst: KeptBurst, sequence: UInt32, count: Int, distance: UInt8
  ) -> VoiceHeader {
    let newest = distance == 0 ? sequence + UInt32(count) - 1 : sequence
    return VoiceHeader(
      turn: burst.token.turn, seat: burst.token.seat, sequence: sequence,
      floorClass: burst.floorClass, isLast: burst.ended?.lastFrame == newest,
      frameLength: burst.frameLength, frameCount: count, copyDistance: distance)
  }

  private static func body(_ header: VoiceHeader, _ frames: [UInt8]) -> [UInt8] {
    LegMessage.write(size: VoiceHeader.size + frames.count) { writer in
      header.write(to: &writer)
      writer.bytes(frames)
    }
  }

  /// The phone says which frames it has: what it misses of those that were sent goes out again.
  func note(
    _ leg: Leg, _ id: BurstID, next: UInt32, bits: UInt64, knowsEnd: Bool, bursts: BurstBuffer,
    now: Instant
  ) {
    guard var stream = leg.stream, stream.burst == id else { return }
    stream.note = nil
    var missing: [UInt32] = []
    if next < stream.next {
      missing.append(next)
      // With the end sent, all behind the report is missing; before, only gaps are.
      let newest = 64 - UInt32(bits.leadingZeroBitCount)
      let reach = stream.end != nil ? stream.next - next - 1 : newest
      for offset in 0..<min(reach, 64) where bits >> UInt64(offset) & 1 == 0 {
        let (number, over) = next.addingReportingOverflow(offset + 1)
        if !over, number < stream.next { missing.append(number) }
      }
      // A report without any gap only says what has not come yet.
      if bits == 0, stream.end == nil { missing = [] }
    }
    // What never came here can't be sent.
    let burst = bursts[id]
    missing.removeAll { !(burst?.contains($0) ?? false) }
    // What was just sent again may still be on its way: the next report will tell.
    if stream.resends.isEmpty, stream.resendDue <= now {
      stream.resends = Array(missing.prefix(LegLimits.resends))
    }
    if stream.end != nil, knowsEnd, missing.isEmpty { stream.isDone = true }
    leg.stream = stream
  }
}
