package import TalkCore

/// What a lane wants done, in order.
package enum LaneEffect: Hashable, Sendable {
  /// Dial a connection; answer with `opened` or `lost`.
  case open(connection: Int)
  /// Send the push of a ticket on a connection, with `ProviderTokenKeeper.current`; what comes of
  /// it comes back with the ticket.
  case send(connection: Int, ticket: LaneTicket)
  /// Reset the stream of a ticket: its answer is not waited for any more.
  case cancel(connection: Int, ticket: LaneTicket)
  /// Send a PING; answer with `pong`.
  case ping(connection: Int)
  /// Close the connection and forget it.
  case close(connection: Int)
  /// Make a provider token, and `take` it into the keeper; then call `pump`.
  case mint
  /// Tell the caller of `submit` what became of its push.
  case report(caller: Int, push: Push, outcome: PushOutcome)
  /// A line for the log; each is said once.
  case note(String)
}

/// One sending of one push; a later sending of the same push has another generation, so that late
/// answers are known as such.
package struct LaneTicket: Hashable, Sendable {
  /// The push's place in the lane.
  package var slot: Int
  /// Which use of the place it is.
  package var generation: UInt32

  /// A ticket of its parts.
  package init(slot: Int, generation: UInt32) { (self.slot, self.generation) = (slot, generation) }
}

/// Decides about all pushes of one environment: when each is sent, on which connection, again or
/// not, and what its caller is told (gateway.md, "APNs provider facts"). It does no I/O, reads no
/// clock, and draws no random numbers.
///
/// How to drive it: `submit` pushes; after every call perform `effects` in order and empty them;
/// tell it what happens to connections and requests (PushLane+Connections, PushLane+Answers); call
/// `due` when `deadline` has passed. `keeper` holds the provider token, which lanes share.
package struct PushLane {
  struct Slot {
    var push: Push
    var caller: Int
    var generation: UInt32 = 0
    var connection: Int?
    var isFree = true
    /// A connection that this push is not sent on again.
    var avoid: Int?
    var sends = 0
    var unprocessed = 0
    var serverFaults = 0
    var tokenRetried = false
    /// Issue time of the provider token that it was sent with.
    var issuedAt: UInt64 = 0
    /// What was in the way the last time; for `expired`.
    var obstacle = ""
  }

  /// The environment that this lane is for.
  package let environment: Push.Environment
  let hasOther: Bool
  let ownLimit: Int
  var slots: [Slot] = []
  var free: [Int] = []
  /// Slots to send, those to be sent again first.
  var again: [Int] = []
  var queue: [Int] = []
  var queueHead = 0
  var connections: [LaneConnection] = []
  var nextConnection = 0
  var breaker = ProviderBreaker()
  var devices = DeviceBackOff()
  var stopped: LaneStop?
  var redialAt = Instant.zero
  var redialWait = Duration.zero
  var dialObstacle = ""
  /// No push that waits has an earlier `notAfter`.
  var nextExpiry = Instant.distantFuture
  var noted: [String] = []
  /// What is to be done; perform in order, then empty.
  package var effects: [LaneEffect] = []
  /// What has happened so far.
  package var counters = LaneCounters()

  /// A lane; `hasOther` when the other environment has one too, `streams` bounds what one
  /// connection carries at a time.
  package init(
    environment: Push.Environment, hasOther: Bool, streams: Int = ProviderLimits.streams
  ) {
    (self.environment, self.hasOther, ownLimit) = (environment, hasOther, streams)
  }

  /// The push that a ticket is about; nil when it is no more.
  package func push(_ ticket: LaneTicket) -> Push? {
    guard slots.indices.contains(ticket.slot) else { return nil }
    let slot = slots[ticket.slot]
    return slot.isFree || slot.generation != ticket.generation ? nil : slot.push
  }

  /// How many pushes wait to be sent.
  package var waiting: Int { again.count + queue.count - queueHead }

  // MARK: taking pushes

  /// Takes a push; `caller` comes back with its report.
  package mutating func submit(
    _ push: Push, caller: Int, at now: Instant, keeper: ProviderTokenKeeper
  ) {
    if let outcome = refusal(of: push, at: now, keeper: keeper) {
      return report(caller, push, outcome)
    }
    let slot = makeSlot(push, caller)
    queue.append(slot)
    nextExpiry = min(nextExpiry, push.notAfter)
  }

  /// What can be said without asking Apple.
  private mutating func refusal(
    of push: Push, at now: Instant, keeper: ProviderTokenKeeper
  ) -> PushOutcome? {
    func fault(_ reason: String) -> PushOutcome { .refused(reason: reason, advice: .ourFault) }
    if push.payload.isEmpty { return fault("PayloadEmpty") }
    if push.payload.count > push.kind.payloadLimit { return fault("PayloadTooLarge") }
    if let id = push.collapseID, !(1...ProviderLimits.collapseBytes).contains(id.utf8.count) {
      return fault("BadCollapseId")
    }
    if let id = push.collapseID, !id.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) {
      return fault("BadCollapseId")
    }
    if !(1...ProviderLimits.tokenBytes).contains(push.token.count) {
      return .refused(reason: "BadDeviceToken", advice: .quarantine)
    }
    if now >= push.notAfter { return .expired(reason: "it came too late to be sent") }
    if let wait = devices.remaining(push.token, at: now) {
      return .refused(reason: "TooManyRequests", advice: .backOff(wait))
    }
    if let wait = breaker.remaining(at: now) {
      return .refused(reason: "the server fails", advice: .backOff(wait))
    }
    if slots.count - free.count >= ProviderLimits.pushes {
      return .refused(reason: "too many pushes wait", advice: .backOff(.seconds(1)))
    }
    if let stopped, !stopped.letsThrough(at: now) { return stopped.outcome }
    if stopped != nil { stopped?.probing(at: now) }
    if keeper.current == nil, !keeper.usesCertificate, !keeper.mustMint(at: now) {
      return .refused(reason: LaneStop.noToken, advice: .providerStopped(LaneStop.noToken))
    }
    return nil
  }

  private mutating func makeSlot(_ push: Push, _ caller: Int) -> Int {
    if let slot = free.popLast() {
      let generation = slots[slot].generation &+ 1
      slots[slot] = Slot(push: push, caller: caller, generation: generation, isFree: false)
      return slot
    }
    slots.append(Slot(push: push, caller: caller, isFree: false))
    return slots.count - 1
  }

  // MARK: sending

  /// Sends what can be sent, dials what is missing. Call it after every batch of inputs.
  package mutating func pump(at now: Instant, keeper: ProviderTokenKeeper) {
    guard !keeper.mustMint(at: now) || waiting == 0 else { return effects.append(.mint) }
    if waiting > 0, keeper.current == nil, !keeper.usesCertificate {
      halt(text: LaneStop.noToken, reason: LaneStop.noToken, at: now)
    }
    pumpAgain(at: now, keeper: keeper)
    while queueHead < queue.count {
      let slot = queue[queueHead]
      guard trySend(slot, at: now, keeper: keeper) else { break }
      queueHead += 1
    }
    if queueHead == queue.count {
      queue.removeAll(keepingCapacity: true)
      queueHead = 0
    } else if queueHead > 4_096 {
      queue.removeFirst(queueHead)
      queueHead = 0
    }
    if waiting == 0 { nextExpiry = .distantFuture }
    dialIfNeeded(at: now)
  }

  private mutating func pumpAgain(at now: Instant, keeper: ProviderTokenKeeper) {
    guard !again.isEmpty else { return }
    let slots = again
    again = []
    for slot in slots where !trySend(slot, at: now, keeper: keeper) { again.append(slot) }
  }

  /// Sends, or reports, the push; false when it has to wait.
  private mutating func trySend(
    _ index: Int, at now: Instant, keeper: ProviderTokenKeeper
  ) -> Bool {
    let push = slots[index].push
    if now >= push.notAfter {
      finish(index, .expired(reason: obstacle(of: index)))
      return true
    }
    if let wait = breaker.remaining(at: now) {
      finish(index, .refused(reason: "the server fails", advice: .backOff(wait)))
      return true
    }
    guard let place = connectionIndex(avoiding: slots[index].avoid) else { return false }
    guard breaker.allows(at: now) else { return false }
    let connection = connections[place].id
    slots[index].connection = connection
    slots[index].sends += 1
    slots[index].issuedAt = keeper.current?.issuedAt ?? 0
    slots[index].generation &+= 1
    let ticket = LaneTicket(slot: index, generation: slots[index].generation)
    connections[place].sent(ticket, at: now)
    counters.sent += 1
    if slots[index].sends > 1 { counters.again += 1 }
    effects.append(.send(connection: connection, ticket: ticket))
    return true
  }

  private func obstacle(of index: Int) -> String {
    if !slots[index].obstacle.isEmpty { return slots[index].obstacle }
    return dialObstacle.isEmpty ? "no answer came in its time" : dialObstacle
  }

  /// The first connection that takes a request.
  private func connectionIndex(avoiding avoid: Int?) -> Int? {
    connections.firstIndex { $0.id != avoid && $0.takes(ownLimit: ownLimit) }
  }

  // MARK: reporting

  /// Ends a push.
  mutating func finish(_ index: Int, _ outcome: PushOutcome) {
    let slot = slots[index]
    slots[index].isFree = true
    slots[index].generation &+= 1
    slots[index].connection = nil
    free.append(index)
    report(slot.caller, slot.push, outcome)
  }

  private mutating func report(_ caller: Int, _ push: Push, _ outcome: PushOutcome) {
    counters.count(outcome)
    effects.append(.report(caller: caller, push: push, outcome: outcome))
  }

  /// Puts a push in front of those that have not been sent yet.
  mutating func sendAgain(_ index: Int, because obstacle: String, at now: Instant) {
    slots[index].generation &+= 1
    slots[index].connection = nil
    slots[index].obstacle = obstacle
    guard slots[index].sends < ProviderLimits.sends, now < slots[index].push.notAfter else {
      return finish(index, .expired(reason: obstacle))
    }
    again.append(index)
    nextExpiry = min(nextExpiry, slots[index].push.notAfter)
  }

  /// Says something once.
  mutating func note(_ text: String) {
    guard noted.count < 64, !noted.contains(text) else { return }
    noted.append(text)
    effects.append(.note("\(environment.rawValue): \(text)"))
  }

  // MARK: time

  /// When `due` is to be called next; nil: not before something happens.
  package var deadline: Instant? {
    var next: Instant?
    for connection in connections { next = .earliest(next, connection.deadline) }
    if waiting > 0 { next = .earliest(next, nextExpiry) }
    if wantsConnection { next = .earliest(next, redialAt) }
    return next
  }

  /// Handles every timer that is due.
  package mutating func due(at now: Instant, keeper: ProviderTokenKeeper) {
    for connection in connections { checkTime(of: connection.id, at: now) }
    if waiting > 0, now >= nextExpiry { dropExpired(at: now) }
    pump(at: now, keeper: keeper)
  }

  private mutating func dropExpired(at now: Instant) {
    nextExpiry = .distantFuture
    let waitingSlots = again + queue[queueHead...]
    let wasAgain = again.count
    (again, queue, queueHead) = ([], [], 0)
    for (position, index) in waitingSlots.enumerated() {
      if now >= slots[index].push.notAfter {
        finish(index, .expired(reason: obstacle(of: index)))
        continue
      }
      nextExpiry = min(nextExpiry, slots[index].push.notAfter)
      if position < wasAgain { again.append(index) } else { queue.append(index) }
    }
  }

  /// Reports everything that has not been answered: the program ends.
  package mutating func end() {
    for index in slots.indices where !slots[index].isFree {
      finish(index, .expired(reason: "the gateway ends"))
    }
    for connection in connections { effects.append(.close(connection: connection.id)) }
    (again, queue, queueHead, connections) = ([], [], 0, [])
  }
}
