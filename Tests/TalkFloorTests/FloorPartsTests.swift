import TalkCore
import TalkCrypto
@testable import TalkFloor
import TalkWire
import Testing

/// The parts of the floor by themselves: queue, memory of tokens, forged and stale words.
@Suite struct FloorPartsTests {
  private func peer(_ number: UInt64) -> PeerID { PeerID(Bytes16(high: number, low: 1)) }

  private func entry(_ number: UInt64, _ floorClass: FloorClass = .normal) -> QueueEntry {
    QueueEntry(floorClass: floorClass, request: number, peer: peer(number), seat: 0)
  }

  private func tokenID(_ number: UInt64) -> TokenID {
    TokenID(turn: number, holder: peer(number), seat: 0)
  }

  private func insert(
    _ entry: QueueEntry, into queue: inout FloorQueue, exchange: FloorExchange = FloorExchange(),
    after waited: Duration = .zero
  ) -> Bool {
    queue.insert(entry, exchange: exchange, hangTime: .seconds(2), now: now + waited).accepted
  }

  @Test func theQueueTakesSixteenAndNoMore() {
    var queue = FloorQueue()
    var accepted = (1...16).map { insert(entry(UInt64($0)), into: &queue) }
    #expect(accepted.allSatisfy { $0 })
    // A repeat of one who waits is no new entry.
    accepted = [insert(entry(17), into: &queue), insert(entry(3), into: &queue)]
    #expect(accepted == [false, true])
    #expect(queue.entries.count == 16)
  }

  @Test func aHigherClassWaitsBeforeALowerOneAndBehindItsOwn() {
    var queue = FloorQueue()
    _ = insert(entry(1), into: &queue)
    _ = insert(entry(2, .priority), into: &queue)
    _ = insert(entry(3, .emergency), into: &queue)
    _ = insert(entry(4, .priority), into: &queue)
    #expect(queue.entries.map(\.request) == [3, 2, 4, 1])
  }

  @Test func whoIsInTheExchangeGoesBeforeOutsidersUntilTheyHaveWaitedTheHangTime() {
    var exchange = FloorExchange()
    exchange.begin(tokenID(1), hangTime: .seconds(2), now: now)
    exchange.end(now: now + .seconds(5))
    exchange.begin(tokenID(2), hangTime: .seconds(2), now: now + .seconds(6))
    var queue = FloorQueue()
    _ = insert(entry(8), into: &queue, exchange: exchange, after: .seconds(6))
    _ = insert(entry(9), into: &queue, exchange: exchange, after: .seconds(7))
    _ = insert(entry(1), into: &queue, exchange: exchange, after: .milliseconds(8_500))
    #expect(queue.entries.map(\.request) == [8, 1, 9])
    // A higher class is never overtaken.
    _ = insert(entry(7, .priority), into: &queue, exchange: exchange, after: .milliseconds(8_500))
    _ = queue.remove(peer(1), seat: 0)
    _ = insert(entry(1), into: &queue, exchange: exchange, after: .milliseconds(8_600))
    #expect(queue.entries.map(\.request) == [7, 8, 1, 9])
  }

  @Test func aLongPauseEndsTheExchange() {
    var exchange = FloorExchange()
    exchange.begin(tokenID(1), hangTime: .seconds(2), now: now)
    exchange.end(now: now)
    exchange.begin(tokenID(2), hangTime: .seconds(2), now: now + .milliseconds(2_001))
    #expect(!exchange.contains(peer(1), seat: 0))
    #expect(exchange.contains(peer(2), seat: 0))
  }

  @Test func theDigestDiffersWhenTheQueueDoes() {
    var queue = FloorQueue()
    let empty = queue.digest
    _ = insert(entry(1), into: &queue)
    let one = queue.digest
    _ = insert(entry(2), into: &queue)
    #expect(Set([empty, one, queue.digest]).count == 3)
  }

  @Test func sixtyFourTokensAreRememberedWithTheirTimeAndOlderOnesAreOverForEver() {
    var tokens = RecentTokens()
    for turn in 1...65 {
      tokens.insert(TokenID(turn: UInt64(turn), holder: peer(1), seat: 0), at: now)
    }
    #expect(tokens.overSince(TokenID(turn: 1, holder: peer(1), seat: 0)) == .zero)
    #expect(tokens.overSince(TokenID(turn: 2, holder: peer(1), seat: 0)) == now)
    #expect(tokens.overSince(TokenID(turn: 66, holder: peer(1), seat: 0)) == nil)
    // Another speaker's turns are another row.
    #expect(tokens.overSince(TokenID(turn: 1, holder: peer(1), seat: 1)) == nil)
    #expect(tokens.overSince(TokenID(turn: 1, holder: peer(2), seat: 0)) == nil)
  }

  // MARK: A machine by hand

  private let now = Instant(nanoseconds: 5_000_000_000)
  private let channel = ChannelID(Bytes16(high: 3, low: 4))

  private func identity(_ number: UInt8) -> Identity {
    Identity.forSimulation(seed: [UInt8](repeating: number, count: 32), salt: 9)
  }

  /// A listener that knows two members, of whom the first talks under turn 10.
  private func listener() -> FloorMachine {
    var machine = FloorMachine(
      identity: identity(0), channel: channel, timers: FloorTimers(), reservedTurn: 2_048,
      firstRequest: 0, now: now)
    for number: UInt8 in [1, 2] {
      let identity = identity(number).publicIdentity
      machine.setMember(identity.peerID, FloorMember(signingKey: identity.signing))
      machine.setPresent(identity.peerID, true, now: now)
    }
    let talker = identity(1).publicIdentity.peerID
    do {
      let heard = machine.hears(turn: 2_050, seat: 0, floorClass: .normal, from: talker, now: now)
      #expect(heard != nil)
    }
    return machine
  }

  private func token(_ number: UInt8, turn: UInt64) -> Token {
    Token(
      id: TokenID(turn: turn, holder: identity(number).publicIdentity.peerID, seat: 0),
      floorClass: .normal)
  }

  private func grant(signedBy number: UInt8, from: Token, to: Token) -> Grant {
    var grant = Grant(
      from: from, to: to, request: 77, signature: Signature64([UInt8](repeating: 0, count: 64))!)
    grant.signature = Signature64(
      identity(number).sign(grant.signedBytes(channel: channel)))!
    return grant
  }

  @Test func aGrantSignedByTheHolderPassesTheFloorOn() {
    var machine = listener()
    let good = grant(
      signedBy: 1, from: token(1, turn: 2_050), to: token(2, turn: 2_051))
    machine.receive(
      .grant(chain: [good], queue: []), from: identity(2).publicIdentity.peerID, now: now)
    #expect(machine.snapshot.token?.id.holder == identity(2).publicIdentity.peerID)
  }

  @Test func aGrantThatTheHolderDidNotSignHasNoEffect() {
    var machine = listener()
    let forged = grant(
      signedBy: 2, from: token(1, turn: 2_050), to: token(2, turn: 2_051))
    machine.receive(
      .grant(chain: [forged], queue: []), from: identity(2).publicIdentity.peerID, now: now)
    #expect(machine.snapshot.token?.id.holder == identity(1).publicIdentity.peerID)
    #expect(machine.refusedMessages == 1)
  }

  @Test func aSecondTalkerIsNotHeardWhileTheFirstIs() {
    var machine = listener()
    let other = identity(2).publicIdentity.peerID
    do {
      let heard = machine.hears(turn: 2_060, seat: 0, floorClass: .normal, from: other, now: now)
      #expect(heard == nil)
    }
    let later = now + .milliseconds(251)
    do {
      let heard = machine.hears(turn: 2_060, seat: 0, floorClass: .normal, from: other, now: later)
      #expect(heard != nil)
    }
  }

  @Test func voiceBehindItsReleaseIsNotHeard() {
    var machine = listener()
    let talker = identity(1).publicIdentity.peerID
    machine.receive(
      .release(token: token(1, turn: 2_050), lastFrame: 3), from: talker, now: now)
    do {
      let heard = machine.hears(turn: 2_050, seat: 0, floorClass: .normal, from: talker, now: now)
      #expect(heard == nil)
    }
    #expect(machine.snapshot.state == .idle)
  }

  @Test func aClassThatTheRosterDoesNotAllowHasNoEffect() {
    var machine = listener()
    let other = identity(2).publicIdentity.peerID
    do {
      let heard = machine.hears(
        turn: 2_060, seat: 0, floorClass: .imminentPeril, from: other, now: now)
      #expect(heard == nil)
    }
    do {
      let heard = machine.hears(turn: 2_061, seat: 0, floorClass: .emergency, from: other, now: now)
      #expect(heard != nil)
    }
  }

  @Test func aJumpOfTurnsBeyondTheLimitIsRefused() {
    var machine = listener()
    let other = identity(2).publicIdentity.peerID
    let later = now + .seconds(1)
    let limit = UInt64(2_050) + 1 << 20
    do {
      let heard = machine.hears(
        turn: limit + 1, seat: 0, floorClass: .normal, from: other, now: later)
      #expect(heard == nil)
    }
    do {
      let heard = machine.hears(turn: limit, seat: 0, floorClass: .normal, from: other, now: later)
      #expect(heard != nil)
    }
  }

  @Test func aStrangersWordsAreCountedAndIgnored() {
    var machine = listener()
    machine.receive(.fence(token: token(9, turn: 1)), from: peer(99), now: now)
    #expect(machine.refusedMessages == 1)
  }

  @Test func aFloodOfOneMemberIsRefusedAndTheOthersAreHeard() {
    var machine = listener()
    let flooder = identity(2).publicIdentity.peerID
    for number in 0..<1_000 {
      machine.receive(
        .none(request: UInt64(number), highestTurn: 1), from: flooder,
        now: now + .microseconds(number))
    }
    #expect(machine.refusedMessages == 1_000 - MessageBudget.burst)
    let talker = identity(1).publicIdentity.peerID
    machine.receive(
      .release(token: token(1, turn: 2_050), lastFrame: 3), from: talker,
      now: now + .milliseconds(2))
    #expect(machine.snapshot.state == .idle)
    // A second later the flooder has the long run's share again, no more.
    for number in 0..<1_000 {
      machine.receive(
        .none(request: UInt64(number), highestTurn: 1), from: flooder, now: now + .seconds(2))
    }
    #expect(machine.refusedMessages == 2_000 - 2 * MessageBudget.burst)
  }

  @Test func tapsInARowCountAsOneBurstAtTheListener() {
    var machine = listener()
    let talker = identity(1).publicIdentity.peerID
    var time = now
    var turn: UInt64 = 2_050
    var heard = 0
    // A talker whose own machine does not keep the limit: 5 s on, 0.8 s off, under ever new turns.
    for _ in 0..<20 {
      for _ in 0..<250 {
        time += .milliseconds(20)
        let token = machine.hears(
          turn: turn, seat: 0, floorClass: .normal, from: talker, now: time)
        if token != nil { heard += 1 }
      }
      time += .milliseconds(800)
      turn += 1
    }
    // Each burst's first frame is its zero.
    #expect(heard <= 61 * 50 + 13)
    #expect(heard >= 58 * 50)
  }

  @Test func aTalkerWhoRenumbersIsHeardOnWithoutABreak() {
    var machine = listener()
    while machine.effects.popFirst() != nil {}
    let (old, new) = (token(1, turn: 2_050), token(1, turn: 2_060))
    let talker = old.id.holder
    machine.receive(
      .grant(chain: [grant(signedBy: 1, from: old, to: new)], queue: []), from: talker, now: now)
    var effects: [FloorEffect] = []
    while let effect = machine.effects.popFirst() { effects.append(effect) }
    #expect(effects.contains(.talkerRenumbered(old, to: new)))
    #expect(!effects.contains { if case .talkerDone = $0 { true } else { false } })
    let heard = machine.hears(turn: 2_050, seat: 0, floorClass: .normal, from: talker, now: now)
    #expect(heard == nil)
  }

  /// A machine of a roster of five, of whom `present` others are here.
  private func strictKeeper(present: Int) -> FloorMachine {
    var machine = FloorMachine(
      identity: identity(0), channel: channel, timers: FloorTimers(), reservedTurn: 2_048,
      firstRequest: 0, strict: true, now: now)
    for number: UInt8 in 1...4 {
      let identity = identity(number).publicIdentity
      machine.setMember(identity.peerID, FloorMember(signingKey: identity.signing))
      guard number <= present else { continue }
      machine.setPresent(identity.peerID, true, now: now)
    }
    machine.turnsReserved(through: 4_096)
    machine.becomeFirstKeeper(now: now)
    machine.memberHearsUs(now: now)
    return machine
  }

  private func effects(of machine: inout FloorMachine) -> [FloorEffect] {
    var effects: [FloorEffect] = []
    while let effect = machine.effects.popFirst() { effects.append(effect) }
    return effects
  }

  @Test func aStrictChannelIsUsedByAMajorityOfItsRosterOnly() {
    var machine = strictKeeper(present: 1)
    machine.press(floorClass: .normal, now: now)
    #expect(effects(of: &machine).contains(.unheard(.minority)))
    let asker = identity(1).publicIdentity.peerID
    let request = FloorRequest(
      request: 1, requester: asker, seat: 0, floorClass: .normal, spread: .direct, counter: 0)
    machine.receive(.request(request), from: asker, now: now)
    #expect(
      effects(of: &machine).contains(
        .send(.deny(request: 1, seat: 0, reason: .minority), to: .peer(asker))))

    machine = strictKeeper(present: 2)
    machine.press(floorClass: .normal, now: now)
    #expect(machine.snapshot.state == .ours)
    machine.setPresent(identity(2).publicIdentity.peerID, false, now: now)
    #expect(machine.snapshot.state == .idle)
    #expect(
      effects(of: &machine).contains { effect in
        if case .stopTransmit(_, .minority) = effect { true } else { false }
      })
  }

  @Test func aClassThatTheRosterDoesNotAllowUsIsRefusedAtOnceThoughWeKeepTheFloor() {
    var machine = strictKeeper(present: 4)
    let own = identity(0).publicIdentity
    machine.setMember(own.peerID, FloorMember(signingKey: own.signing, classes: 0b0001))
    machine.press(floorClass: .emergency, now: now)
    #expect(effects(of: &machine).contains(.denied(.classRefused)))
    machine.setMember(own.peerID, FloorMember(signingKey: own.signing, maySpeak: false))
    machine.press(floorClass: .normal, now: now)
    #expect(effects(of: &machine).contains(.denied(.listenOnly)))
    #expect(machine.snapshot.state == .idle)
  }

  @Test func whoIsRefusedWhileItWaitsLeavesTheQueue() {
    var machine = strictKeeper(present: 4)
    machine.press(floorClass: .normal, now: now)
    let asker = identity(1).publicIdentity
    let waiting = FloorRequest(
      request: 1, requester: asker.peerID, seat: 0, floorClass: .priority, spread: .direct,
      counter: 0)
    machine.setMember(
      asker.peerID, FloorMember(signingKey: asker.signing, classes: 0b0011))
    machine.receive(.request(waiting), from: asker.peerID, now: now)
    #expect(machine.snapshot.queue.map(\.peer) == [asker.peerID])
    machine.setMember(
      asker.peerID, FloorMember(signingKey: asker.signing, classes: 0b0001))
    machine.receive(.request(waiting), from: asker.peerID, now: now)
    #expect(machine.snapshot.queue.isEmpty)
  }
}
