import TalkWire
import TalkAudio
import TalkCore
import TalkMesh
import TalkNet
import TalkNode
import TalkStore

/// A `talk press` whose answer waits until the floor has decided.
struct PendingPress {
  var channel: ChannelID
  var reply: @Sendable (ControlReply) -> Void
}

/// Requests of the control socket's clients.
extension Shell {
  /// Answers a request, at once or when it is decided.
  func handle(
    _ request: ControlRequest, _ client: ControlClientID,
    _ reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    switch request {
    case .talkHold, .talkPress, .talkRelease, .talkToggle:
      handleTalk(request, client, reply)
    case .talkFile(let path, let floorClass): speak(path, floorClass, for: client, reply)
    case .status: reply(.success(.status(statusReport())))
    case .devices: listDevices(reply)
    case .stop:
      reply(.success(.done))
      beginStop()
    case .channelCreate, .join, .channelUse, .channelLeave: handleKept(request, reply)
    default:
      do {
        reply(.success(try handleChannel(request)))
      } catch {
        reply(.failure(error))
      }
    }
  }

  /// A request whose effect must outlive the node: its answer waits for the disk, and a channel
  /// that could not be kept is not there.
  private func handleKept(
    _ request: ControlRequest, _ reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    let before = Set(node.channelNames.map(\.id))
    let result: ControlResult
    do {
      result = try handleChannel(request)
    } catch {
      return reply(.failure(error))
    }
    let after = Set(node.channelNames.map(\.id))
    afterWriting(Array(before.union(after))) { failure in
      guard let failure else { return reply(.success(result)) }
      self.input { step in
        for id in after.subtracting(before) { self.node.leave(id, step) }
      }
      reply(.failure(ControlFailure(.stateFile, failure.description)))
    }
  }

  /// A client is gone: its key is up, and what it had spoken stops.
  func clientGone(_ client: ControlClientID) {
    input { step in
      self.node.release(PressSource(id: client.number), step)
      if let speech = self.speech, speech.client == client {
        self.endSpeech(.failure(ControlFailure(.keyLost, "the client is gone")), step)
      }
    }
  }

  // MARK: Channels

  private func handleChannel(
    _ request: ControlRequest
  ) throws(ControlFailure) -> ControlResult {
    switch request {
    case .channelCreate(let name, let strict):
      return .channel(
        channelStatus(
          try perform { step throws(ChannelRefusal) in
            try self.node.createChannel(name, rules: strict ? .strict : [], step)
          }))
    case .channelList:
      return .channels(node.channelNames.map { channelStatus($0.id) })
    case .channelShow(let name): return .channel(channelStatus(try find(name)))
    case .channelUse(let name):
      let id = try find(name)
      input { self.node.use(id, $0) }
      return .channel(channelStatus(id))
    case .channelLeave(let name):
      let id = try find(name)
      input { self.node.leave(id, $0) }
      return .done
    case .invite(let name, let lifetime, let joiners):
      let id = try find(name)
      let line = try perform { step throws(ChannelRefusal) in
        try self.node.invite(id, for: lifetime, admitting: joiners, step)
      }
      return .invite(
        InviteGrant(
          invite: line, channel: node.name(of: id),
          seconds: Int(lifetime.wholeNanoseconds / 1_000_000_000), joiners: joiners))
    case .join(let text):
      let invite: Invite
      do {
        invite = try Invite(text: text.text)
      } catch {
        throw ControlFailure(.badInvite, "\(error)")
      }
      return .channel(
        channelStatus(
          try perform { step throws(ChannelRefusal) in try self.node.join(invite, step) }))
    case .members(let name):
      return .members(channelStatus(try find(name)).members)
    case .membersSet(let name, let member, let change):
      let id = try find(name)
      try setRights(of: member, on: id, change)
      return .members(channelStatus(id).members)
    default:
      throw ControlFailure(.fault, "the request is not known to this node")
    }
  }

  /// Runs a command of the node as one input.
  private func perform<Value>(
    _ body: (Step) throws(ChannelRefusal) -> Value
  ) throws(ControlFailure) -> Value {
    var result: Result<Value, ChannelRefusal>?
    input { step in
      do throws(ChannelRefusal) {
        result = .success(try body(step))
      } catch {
        result = .failure(error)
      }
    }
    do {
      return try result!.get()
    } catch {
      throw failure(of: error)
    }
  }

  private func find(_ name: String?) throws(ControlFailure) -> ChannelID {
    do {
      return try node.find(name)
    } catch {
      throw failure(of: error)
    }
  }

  private func failure(of refusal: ChannelRefusal) -> ControlFailure {
    switch refusal {
    case .unknown(let name):
      name.isEmpty
        ? .noChannel : .noSuchChannel(name, among: node.channelNames.map(\.name))
    case .nameTaken(let name):
      ControlFailure(
        .channelExists, "a channel called '\(name)' is here already; take another name")
    case .nameEmpty:
      ControlFailure(.badName, "the name has nothing visible in it; take another name")
    case .tooMany:
      ControlFailure(
        .tooManyChannels,
        "a node takes \(Node.channelLimit) channels; leave one with 'talkaround channel leave'")
    case .entropy: ControlFailure(.overload, "no random bytes at hand; try again")
    case .secretMemory:
      ControlFailure(.fault, "no memory for secrets; raise the limit with 'ulimit -l'")
    case .alreadyMember(let name):
      ControlFailure(.channelExists, "you are on '\(name)' already")
    case .notMember:
      ControlFailure(
        .notAdmitted, "no member has admitted us yet: the inviter runs 'talkaround invite'")
    }
  }

  // MARK: Talking

  private func handleTalk(
    _ request: ControlRequest, _ client: ControlClientID,
    _ reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    let held = PressSource(id: client.number)
    switch request {
    case .talkHold(let floorClass):
      press(held, floorClass) { reply($0) }
    case .talkPress(let floorClass): pressLatch(floorClass, reply)
    case .talkToggle(let floorClass) where !node.isPressed(.latch):
      pressLatch(floorClass, reply)
    default:
      input { step in
        self.node.release(held, step)
        self.node.release(.latch, step)
      }
      guard let channel = node.current else { return reply(.failure(.noChannel)) }
      reply(.success(.floor(floorStatus(channel))))
    }
  }

  private func press(
    _ source: PressSource, _ floorClass: FloorClass, _ reply: (ControlReply) -> Void
  ) {
    var refusal: TalkRefusal?
    input { step in
      do throws(TalkRefusal) {
        try self.node.press(source, channel: nil, floorClass: floorClass, step)
      } catch {
        refusal = error
      }
    }
    if let refusal { return reply(.failure(failure(of: refusal))) }
    guard let channel = node.current else { return reply(.failure(.noChannel)) }
    reply(.success(.floor(floorStatus(channel))))
  }

  private func pressLatch(
    _ floorClass: FloorClass, _ reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    guard let channel = node.current else { return reply(.failure(.noChannel)) }
    // Waiting first: the floor may decide within the press.
    pendingPresses.append(PendingPress(channel: channel, reply: reply))
    press(.latch, floorClass) { result in
      guard case .failure = result else { return }
      if let mine = pendingPresses.popLast() { mine.reply(result) }
    }
    if !pendingPresses.isEmpty, [.idle, .taken].contains(floorStatus(channel).state) {
      input { self.node.release(.latch, $0) }
      refusePresses(
        channel, .busy, "the key is down already, and its burst is over: let go of it first")
    }
    settlePresses(channel)
    if pendingPresses.count == 1 { pressTimer?.arm(after: Self.pressPatience) }
  }

  /// How long a press may go unanswered: then its client is told that it is asked for.
  private static var pressPatience: Duration { .seconds(1) }

  /// Answers presses that have waited long: that the floor is asked for, and nobody has answered.
  func answerWaitingPresses() {
    let presses = pendingPresses
    pendingPresses = []
    for press in presses { press.reply(.success(.floor(floorStatus(press.channel)))) }
  }

  /// Answers presses whose floor is ours or queued.
  func settlePresses(_ channel: ChannelID) {
    let state = floorStatus(channel)
    guard state.state != .requested, !pendingPresses.isEmpty else { return }
    for press in pendingPresses where press.channel == channel {
      press.reply(.success(.floor(state)))
    }
    pendingPresses.removeAll { $0.channel == channel }
  }

  /// Answers presses that the floor refused.
  func refusePresses(_ channel: ChannelID, _ reason: Reason, _ message: String) {
    for press in pendingPresses where press.channel == channel {
      press.reply(.failure(ControlFailure(reason, message)))
    }
    pendingPresses.removeAll { $0.channel == channel }
  }

  /// A refused press in the words of the control socket.
  func failure(of refusal: TalkRefusal) -> ControlFailure {
    switch refusal {
    case .noChannel: .noChannel
    case .joining:
      ControlFailure(
        .notAdmitted, "no member has admitted us yet: the inviter runs 'talkaround invite'")
    case .noMicrophone:
      ControlFailure(
        .noMicrophone, sound.capture.fault?.description ?? "there is no microphone")
    case .tooManyKeys: ControlFailure(.overload, "too many keys are down at once")
    }
  }

  // MARK: Devices

  /// Lists the sound server's devices; asking it may take a while, so another thread does.
  private func listDevices(_ reply: @escaping @Sendable (ControlReply) -> Void) {
    let (capture, playback) = (sound.capture.name, sound.playback.name)
    do throws(NetError) {
      let thread = try NodeThread(name: "devices") {
        reply(.success(.devices(DeviceReport.current(capture: capture, playback: playback))))
      }
      thread.detach()
    } catch {
      reply(.failure(ControlFailure(.overload, error.description)))
    }
  }
}
