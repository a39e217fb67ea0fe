import TalkAudio
import TalkCore
import TalkFloor
import TalkNet
import TalkNode
import TalkWire

/// What people and programs are told: status and events.
extension Shell {
  /// Sends an event to those who watch.
  func publish(_ content: WatchEvent.Content) {
    server?.publish(content, at: BootClock.now())
  }

  // MARK: Status

  /// The whole state.
  func statusReport() -> StatusReport {
    StatusReport(
      node: NodeStatus(
        id: node.me.description, name: node.nickname, port: socket.port,
        audio: NodeStatus.Audio(capture: sound.capture.name, playback: sound.playback.name),
        discovery: NodeStatus.Discovery(
          avahi: avahiState, hello: options.hello ? "on" : "off", hellos: hellos())),
      channels: node.channelNames.map { channelStatus($0.id) })
  }

  private func hellos() -> NodeStatus.Hellos {
    let counters = node.counters
    return NodeStatus.Hellos(
      sent: node.sentHellos, own: counters.ownHellos, heard: counters.heardHellos,
      heardMilliseconds: counters.lastHello.map { Int((BootClock.now() - $0).milliseconds) })
  }

  /// The state of one channel.
  func channelStatus(_ id: ChannelID) -> ChannelStatus {
    let members = node.members(of: id, now: BootClock.now())
    // A press is refused unless somebody is there who may hear it.
    var reason: Reason?
    if node.isJoining(id) {
      reason = .notAdmitted
    } else if !members.contains(where: \.isPresent) {
      reason = .alone
    }
    return ChannelStatus(
      id: id.description, name: node.name(of: id), current: node.current == id,
      status: reason == nil ? .ready : .connecting, reason: reason,
      members: members.map { memberStatus($0, on: id) } + wantsIn(id), floor: floorStatus(id))
  }

  private func memberStatus(_ member: MemberView, on channel: ChannelID) -> MemberStatus {
    let rights = node.rights(of: member.id, on: channel)
    return MemberStatus(
      id: member.id.description, name: member.nickname,
      state: member.isPresent ? .present : .away, hearsMe: member.hearsMe,
      iHear: member.iHear, roundTripMilliseconds: member.roundTrip?.milliseconds,
      lossTo: member.lossTo ?? 0, lossFrom: member.lossFrom ?? 0, deaf: member.isDeaf,
      role: rights?.role.word, classes: rights?.classes.words ?? [],
      endpoint: member.endpoint?.description,
      silentMilliseconds: member.silentFor.map { Int($0.milliseconds) })
  }

  private func wantsIn(_ id: ChannelID) -> [MemberStatus] {
    wantsInNames.filter { $0.channel == id }.map { entry in
      MemberStatus(
        id: entry.peer.description, name: entry.name, state: .wantsIn, hearsMe: false,
        iHear: false, roundTripMilliseconds: nil, lossTo: 0, lossFrom: 0, deaf: false)
    }
  }

  /// The state of one channel's floor.
  func floorStatus(_ id: ChannelID) -> FloorStatus {
    guard let floor = node.floor(of: id) else {
      return FloorStatus(
        state: .idle, holder: nil, floorClass: "normal", turn: 0, sinceMilliseconds: nil,
        limitMilliseconds: 0, place: nil, queue: [])
    }
    let since = floor.since.map { Int((BootClock.now() - $0).milliseconds) }
    return FloorStatus(
      state: FloorState(rawValue: floor.state.rawValue) ?? .idle,
      holder: floor.token?.id.holder.description,
      floorClass: floor.token?.floorClass.word ?? "normal", turn: floor.latestTurn,
      sinceMilliseconds: since, limitMilliseconds: Int(floor.limit.milliseconds),
      place: floor.place, queue: floor.queue.map(\.peer.description))
  }

  // MARK: Events

  /// Tells what the node told, and answers those who waited for it.
  func tell(_ event: NodeEvent) {
    if parrot != nil { tellParrot(event) }
    switch event {
    case .floor(let id, let times): tellFloor(id, times)
    case .member(let id, let peer): tellMember(id, peer)
    case .burstBegan(let id, let token): tellBurst(id, token, .began)
    case .burstEnded(let id, let token, let frames, let lost):
      tellBurst(id, token, .ended, frames: frames, lost: lost)
    case .heard(let id, let token, let by, let missed):
      let heard = HeardEvent(
        channel: id.description, turn: token.turn, heard: by.map { listener($0, id) },
        missed: missed.map { listener($0, id) })
      publish(.heard(heard))
      input { self.speechHeard(heard, $0) }
    case .tone(let id, let tone, let reason): tellTone(id, tone, reason)
    case .joined(let id):
      Log.line("joined \(Log.quoted(node.name(of: id)))")
      tellService(id)
    case .admitted(let id, let peer):
      wantsInNames.removeAll { $0.channel == id && $0.peer == peer }
      Log.line("admitted \(logged(peer, id)) to \(Log.quoted(node.name(of: id)))")
    case .wantsIn(let id, let peer, let nickname): tellWantsIn(id, peer, nickname)
    case .identityElsewhere(let endpoint):
      let text =
        "our identity speaks from \(endpoint) too: one of the two was copied; start it with "
        + "another --state DIR"
      Log.error(text)
      publish(.error(ErrorEvent(reason: .copiedIdentity, message: text)))
    case .channels:
      let ids = node.channelNames.map(\.id)
      loggedPresent = loggedPresent.filter { ids.contains($0.key.channel) }
      for id in ids { tellService(id) }
    }
  }

  /// A member in a line of the log: what it calls itself, in quotes, and who it is.
  private func logged(_ peer: PeerID, _ channel: ChannelID) -> String {
    "\(Log.quoted(node.nickname(of: peer, on: channel))) \(peer.short)"
  }

  private func listener(_ peer: PeerID, _ channel: ChannelID) -> HeardEvent.Listener {
    HeardEvent.Listener(
      id: peer.description, name: node.nickname(of: peer, on: channel))
  }

  private func tellFloor(_ id: ChannelID, _ times: PressTimes?) {
    let status = floorStatus(id)
    let holder = node.floor(of: id)?.token?.id.holder
    let press = times.map { times in
      PressTiming(
        press: (times.pressed - .zero).milliseconds,
        grant: times.granted.map { ($0 - times.pressed).milliseconds },
        permit: times.permitted.map { ($0 - times.pressed).milliseconds })
    }
    publish(
      .floor(
        FloorEvent(
          channel: id.description, state: status.state, holder: status.holder,
          name: holder.map { node.nickname(of: $0, on: id) }, place: status.place,
          turn: status.turn, floorClass: status.floorClass, reason: nil, queue: status.queue,
          press: press ?? PressTiming())))
    settlePresses(id)
  }

  private func tellMember(_ id: ChannelID, _ peer: PeerID) {
    guard
      let member = node.members(of: id, now: BootClock.now()).first(where: { $0.id == peer })
    else { return }
    wantsInNames.removeAll { $0.channel == id && $0.peer == peer }
    logPresence(member, id)
    saveNames()
    publish(.member(MemberEvent(channel: id.description, member: memberStatus(member, on: id))))
    let isReady = channelStatus(id).status == .ready
    guard readiness[id] != isReady else { return }
    readiness[id] = isReady
    tellService(id)
  }

  /// Logs that a member came or left, once per change.
  private func logPresence(_ member: MemberView, _ id: ChannelID) {
    let key = MemberKey(channel: id, peer: member.id)
    guard (loggedPresent[key] ?? false) != member.isPresent else { return }
    loggedPresent[key] = member.isPresent ? true : nil
    let word = member.isPresent ? "came" : "left"
    Log.line("\(logged(member.id, id)) \(word) on \(Log.quoted(node.name(of: id)))", .debug)
  }

  private func tellWantsIn(_ id: ChannelID, _ peer: PeerID, _ nickname: String) {
    guard !wantsInNames.contains(where: { $0.channel == id && $0.peer == peer }) else { return }
    if wantsInNames.count >= 64 { wantsInNames.removeFirst() }
    wantsInNames.append((id, peer, nickname))
    if let place = newcomers.firstToTell(peer, on: id) {
      let more = place == Newcomers.limit ? "; no more of them are logged" : ""
      Log.line(
        "\(Log.quoted(nickname)) \(peer.short) wants to join "
          + "\(Log.quoted(node.name(of: id)))\(more)")
    }
    guard let status = wantsIn(id).last else { return }
    publish(.member(MemberEvent(channel: id.description, member: status)))
  }

  private func tellService(_ id: ChannelID) {
    let status = channelStatus(id)
    publish(
      .status(
        ServiceEvent(
          channel: status.id, name: status.name, current: status.current,
          status: status.status, reason: status.reason)))
  }

  private func tellBurst(
    _ id: ChannelID, _ token: TokenID, _ phase: BurstEvent.Phase, frames: Int? = nil,
    lost: Int? = nil
  ) {
    publish(
      .burst(
        BurstEvent(
          channel: id.description, turn: token.turn, speaker: token.holder.description,
          name: node.nickname(of: token.holder, on: id), phase: phase, frames: frames,
          lost: lost)))
  }

  /// Tells how loud the present burst is, ten times a second, if anybody wants to know.
  func tellLevel(now: Instant) {
    guard server?.wantsLevels == true, now >= nextLevel, let burst = node.activeBurst else {
      return
    }
    nextLevel = now + .milliseconds(100)
    publish(
      .burst(
        BurstEvent(
          channel: burst.channel.description, turn: burst.token.turn,
          speaker: burst.token.holder.description,
          name: node.nickname(of: burst.token.holder, on: burst.channel), phase: .level,
          level: node.level)))
  }

  private func tellTone(_ id: ChannelID, _ tone: ToneEvent, _ why: ToneReason) {
    var report = ToneReport(channel: id.description, tone: tone.word)
    switch why {
    case .none: break
    case .holder(let holder):
      report.reason = .busy
      report.holder = holder.description
      report.name = node.nickname(of: holder, on: id)
    case .member(let peer): report.name = node.nickname(of: peer, on: id)
    case .place(let place):
      report.reason = .busy
      report.place = place
      report.holder = node.floor(of: id)?.token?.id.holder.description
      report.name = node.floor(of: id)?.token.map { node.nickname(of: $0.id.holder, on: id) }
    case .denied(let reason): report.reason = reason.reason
    case .unheard(let reason): report.reason = reason.reason
    case .stopped(let reason): report.reason = reason.reason
    case .noMicrophone: report.reason = .noMicrophone
    }
    publish(.tone(report))
    guard tone == .unheard || (tone == .busy && report.holder == nil) || tone == .cut else {
      return
    }
    let reason = report.reason ?? .unheard
    var message = reason.meaning
    if reason == .noMicrophone, let fault = sound.capture.fault { message = fault.description }
    refusePresses(id, reason, message)
    // The latch is the node's own key: nobody else would let go of it. One whose burst another took
    // waits for the floor.
    if why != .stopped(.preempted), why != .stopped(.lost) {
      input { self.node.release(.latch, $0) }
    }
    speechFailed(id, reason, message)
  }
}

extension ToneEvent {
  /// The word in `watch`.
  var word: String { self == .limitWarning ? "limit-warning" : rawValue }
}

extension FloorClass {
  /// The word in `status`.
  var word: String {
    switch self {
    case .normal: "normal"
    case .priority: "priority"
    case .imminentPeril: "peril"
    case .emergency: "emergency"
    }
  }
}

extension DenyReason {
  /// The reason in the closed list.
  var reason: Reason {
    switch self {
    case .queueFull: .queueFull
    case .listenOnly: .listenOnly
    case .classRefused: .classRefused
    case .minority: .minority
    }
  }
}

extension UnheardReason {
  /// The reason in the closed list.
  var reason: Reason {
    switch self {
    case .alone: .alone
    case .noAnswer: .noAnswer
    case .minority: .minority
    }
  }
}

extension StopReason {
  /// The reason in the closed list.
  var reason: Reason {
    switch self {
    case .released: .released
    case .limit: .limit
    case .preempted: .preempted
    case .lost: .overruled
    case .unheard: .unheard
    case .minority: .minority
    }
  }
}
