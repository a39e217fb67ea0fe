import TalkCore
import TalkFloor
import TalkSim
import TalkWire
import Testing

/// Whole scenes on a simulated network: who speaks, how soon, and who never does.
@Suite struct FloorScenarioTests {
  private func starts(_ mesh: FloorMesh, node: Int) -> [Instant] {
    mesh.happenings.compactMap { happening in
      guard happening.node == node, case .startTransmit = happening.effect else { return nil }
      return happening.at
    }
  }

  private func has(
    _ mesh: FloorMesh, node: Int, after: Instant = .zero,
    _ matches: (FloorEffect) -> Bool
  ) -> Bool {
    mesh.happenings.contains { $0.node == node && $0.at >= after && matches($0.effect) }
  }

  /// In no 20 ms slot does a listener play two tokens (S1), measured on arrivals.
  private func overlaps(_ mesh: FloorMesh) -> [FloorMesh.Rendering] {
    var last: [Int: FloorMesh.Rendering] = [:]
    var found: [FloorMesh.Rendering] = []
    for rendering in mesh.renderings {
      if let before = last[rendering.listener], before.token != rendering.token,
        rendering.token.turn < before.token.turn
      {
        found.append(rendering)
      }
      last[rendering.listener] = rendering
    }
    return found
  }

  @Test func keeperThatIsHeardGrantsItselfAtOnce() {
    var mesh = FloorMesh(count: 3, seed: 1)
    mesh.run(for: .milliseconds(50))
    let pressed = mesh.now
    mesh.press(0)
    mesh.run(for: .milliseconds(100))
    #expect(starts(mesh, node: 0) == [pressed])
  }

  @Test func memberIsGrantedInOneRoundTrip() throws {
    var mesh = FloorMesh(count: 3, seed: 2)
    mesh.run(for: .milliseconds(50))
    let pressed = mesh.now
    mesh.press(1)
    mesh.run(for: .milliseconds(100))
    let start = try #require(starts(mesh, node: 1).first)
    #expect(start - pressed <= .milliseconds(2))
    #expect(mesh.machines[2].snapshot.token?.id.holder == mesh.machines[1].me)
  }

  @Test func everyFrameFromGrantToReleaseArrivesWithoutLoss() {
    var mesh = FloorMesh(count: 4, seed: 3)
    mesh.run(for: .milliseconds(50))
    mesh.press(2)
    mesh.release(2, after: .seconds(3))
    mesh.run(for: .seconds(4))
    for listener in [0, 1, 3] {
      let frames = mesh.renderings.filter { $0.listener == listener }.map(\.frame)
      #expect(frames == Array(1...UInt32(frames.count)))
      #expect(frames.count >= 150)
    }
    #expect(mesh.machines.allSatisfy { $0.snapshot.state == .idle })
    #expect(mesh.machines.allSatisfy { $0.snapshot.keeper == mesh.machines[2].me })
  }

  @Test func secondPressWaitsAndSpeaksAtTheRelease() throws {
    var mesh = FloorMesh(count: 3, seed: 4)
    mesh.run(for: .milliseconds(50))
    mesh.press(0)
    mesh.press(1, after: .milliseconds(500))
    mesh.press(2, after: .milliseconds(600))
    mesh.run(for: .seconds(1))
    #expect(has(mesh, node: 1) { $0 == .queued(place: 1) })
    #expect(has(mesh, node: 2) { $0 == .queued(place: 2) })
    #expect(
      mesh.machines[2].snapshot.queue.map(\.peer) == [mesh.machines[1].me, mesh.machines[2].me])
    let released = mesh.now
    mesh.release(0)
    mesh.release(1, after: .seconds(1))
    mesh.run(for: .seconds(2))
    let first = try #require(starts(mesh, node: 1).first)
    #expect(first - released <= .milliseconds(25))
    #expect(starts(mesh, node: 2).count == 1)
    #expect(overlaps(mesh).isEmpty)
  }

  /// Node 1 and node 2 have no path to each other; node 0 reaches both.
  private func meshWithHiddenPair(seed: UInt64) -> FloorMesh {
    var mesh = FloorMesh(count: 3, seed: seed)
    mesh.run(for: .milliseconds(50))
    mesh.links.cut(1, 2)
    mesh.separate(1, 2)
    mesh.press(1)
    mesh.run(for: .seconds(1))
    return mesh
  }

  @Test func whoCannotReachTheHolderIsQueuedThroughAnotherAndSpeaksAtTheRelease() throws {
    var mesh = meshWithHiddenPair(seed: 21)
    let pressed = mesh.now
    mesh.press(2)
    mesh.run(for: .milliseconds(200))
    #expect(has(mesh, node: 2, after: pressed) { $0 == .queued(place: 1) })
    mesh.run(for: .seconds(20))
    #expect(starts(mesh, node: 2).isEmpty)
    #expect(mesh.machines[2].snapshot.state == .queued)
    let released = mesh.now
    mesh.release(1)
    mesh.run(for: .milliseconds(200))
    let start = try #require(starts(mesh, node: 2).first)
    #expect(start - released <= .milliseconds(25))
  }

  @Test func whoCannotReachTheHolderIsRefusedThroughAnother() {
    var mesh = meshWithHiddenPair(seed: 22)
    mesh.forbid(2, .emergency, at: 1)
    let pressed = mesh.now
    mesh.press(2, .emergency)
    mesh.run(for: .milliseconds(100))
    #expect(has(mesh, node: 2, after: pressed) { $0 == .denied(.classRefused) })
  }

  @Test func aHiddenWaiterGoesOnWhenTheHolderCrashes() throws {
    var mesh = meshWithHiddenPair(seed: 23)
    mesh.press(2)
    mesh.run(for: .milliseconds(700))
    mesh.crash(1)
    let crashed = mesh.now
    mesh.run(for: .seconds(2))
    let start = try #require(starts(mesh, node: 2).first)
    #expect(start > crashed)
  }

  @Test func cancelledRequestNeverSpeaks() {
    var mesh = FloorMesh(count: 3, seed: 5)
    mesh.run(for: .milliseconds(50))
    mesh.press(0)
    mesh.press(1, after: .milliseconds(100))
    mesh.release(1, after: .milliseconds(300))
    mesh.release(0, after: .milliseconds(600))
    mesh.run(for: .seconds(1))
    #expect(starts(mesh, node: 1).isEmpty)
    #expect(mesh.machines[0].snapshot.queue.isEmpty)
  }

  @Test func floorOfACrashedHolderIsFreeWithin300Milliseconds() {
    var mesh = FloorMesh(count: 3, seed: 6)
    mesh.run(for: .milliseconds(50))
    mesh.press(1)
    mesh.run(for: .seconds(1))
    mesh.crash(1)
    mesh.run(for: .milliseconds(300))
    #expect(mesh.machines[0].snapshot.state == .idle)
    #expect(mesh.machines[2].snapshot.state == .idle)
  }

  @Test func nextInQueueSpeaksAfterTheHolderCrashed() throws {
    var mesh = FloorMesh(count: 4, seed: 7)
    mesh.run(for: .milliseconds(50))
    mesh.press(1)
    mesh.press(2, after: .milliseconds(200))
    mesh.press(3, after: .milliseconds(300))
    mesh.run(for: .seconds(1))
    let crashed = mesh.now
    mesh.crash(1)
    mesh.run(for: .seconds(1))
    let start = try #require(starts(mesh, node: 2).first)
    #expect(start - crashed <= .milliseconds(400))
    #expect(starts(mesh, node: 3).isEmpty)
    #expect(mesh.machines[2].snapshot.queue.map(\.peer) == [mesh.machines[3].me])
  }

  /// L2: lease 250 ms, window 100 ms, 30 ms for the place, whenever in a frame's time the holder
  /// dies, and however unevenly its last packets came.
  @Test(arguments: [3, 4, 8])
  func theSuccessorOfACrashedHolderLosesNoClaimWindow(count: Int) throws {
    var worst = Duration.zero
    for seed in 0..<40 {
      var mesh = FloorMesh(
        count: count, seed: UInt64(seed),
        links: LinkModel(delay: .milliseconds(1), jitter: .milliseconds(8)))
      mesh.run(for: .milliseconds(50))
      mesh.press(1)
      mesh.press(2, after: .milliseconds(200))
      mesh.run(for: .milliseconds(1_000 + seed))
      let crashed = mesh.now
      mesh.crash(1)
      mesh.run(for: .seconds(1))
      let start = try #require(starts(mesh, node: 2).first, "seed \(seed)")
      worst = max(worst, start - crashed)
    }
    #expect(worst <= .milliseconds(380 + 9), "\(worst)")
  }

  @Test func deadKeeperCostsAtMost130Milliseconds() throws {
    var mesh = FloorMesh(count: 3, seed: 8)
    mesh.run(for: .milliseconds(50))
    mesh.crash(0)
    mesh.run(for: .milliseconds(500))
    let pressed = mesh.now
    mesh.press(1)
    mesh.run(for: .milliseconds(300))
    let start = try #require(starts(mesh, node: 1).first)
    #expect(start - pressed <= .milliseconds(130))
  }

  @Test func talkLimitFreesTheFloorAndNeedsANewPress() throws {
    var mesh = FloorMesh(count: 3, seed: 9)
    mesh.run(for: .milliseconds(50))
    mesh.press(1)
    mesh.run(for: .seconds(59))
    mesh.press(2)
    mesh.run(for: .seconds(2))
    #expect(has(mesh, node: 1) { $0 == .limitWarning })
    #expect(
      has(mesh, node: 1) {
        if case .stopTransmit(_, .limit) = $0 { true } else { false }
      })
    #expect(starts(mesh, node: 2).count == 1)
    #expect(starts(mesh, node: 1).count == 1)
  }

  @Test func emergencyStopsANormalTalkerAndTakesTheFloor() throws {
    var mesh = FloorMesh(count: 3, seed: 10)
    mesh.run(for: .milliseconds(50))
    mesh.press(1)
    mesh.run(for: .seconds(1))
    let pressed = mesh.now
    mesh.press(2, .emergency)
    mesh.run(for: .milliseconds(200))
    let start = try #require(starts(mesh, node: 2).first)
    #expect(start - pressed <= .milliseconds(25))
    #expect(mesh.machines[1].snapshot.state == .queued)
  }

  @Test func emergencyOverAHungHolderWaits60MillisecondsAtMost() throws {
    var mesh = FloorMesh(count: 3, seed: 11)
    mesh.run(for: .milliseconds(50))
    mesh.press(1)
    mesh.run(for: .seconds(1))
    mesh.stall(1, for: .seconds(1))
    let pressed = mesh.now
    mesh.press(2, .emergency)
    mesh.run(for: .milliseconds(240))
    let start = try #require(starts(mesh, node: 2).first)
    #expect(start - pressed <= .milliseconds(60))
  }

  @Test func shortFadeOfOneListenerNeverEndsALiveFloor() {
    var mesh = FloorMesh(count: 4, seed: 12)
    mesh.run(for: .milliseconds(50))
    mesh.press(1)
    mesh.run(for: .seconds(1))
    mesh.links.cut(from: 1, to: 3)
    mesh.run(for: .milliseconds(600))
    mesh.press(3)
    mesh.run(for: .milliseconds(600))
    mesh.links.heal()
    mesh.run(for: .seconds(1))
    #expect(starts(mesh, node: 3).isEmpty)
    #expect(mesh.machines[2].snapshot.token?.id.holder == mesh.machines[1].me)
    #expect(mesh.machines[3].snapshot.state == .queued)
  }

  @Test func healedPartitionEndsWithOneTalkerWithin60Milliseconds() {
    var mesh = FloorMesh(count: 4, seed: 13)
    mesh.run(for: .milliseconds(50))
    for left in [0, 1] { for right in [2, 3] { mesh.links.cut(left, right) } }
    mesh.run(for: .milliseconds(300))
    mesh.press(0)
    mesh.press(2, after: .milliseconds(100))
    mesh.run(for: .seconds(2))
    #expect(starts(mesh, node: 0).count == 1)
    #expect(starts(mesh, node: 2).count == 1)
    mesh.links.heal()
    let healed = mesh.now
    mesh.run(for: .milliseconds(60))
    let talking = mesh.machines.filter { $0.snapshot.state == .ours }
    #expect(talking.count == 1)
    mesh.run(for: .milliseconds(600))
    let holders = Set(mesh.machines.compactMap { $0.snapshot.token?.id.holder })
    #expect(holders.count == 1)
    #expect(mesh.now > healed)
  }

  @Test func nobodyTransmitsToNobody() {
    var mesh = FloorMesh(count: 2, seed: 14)
    mesh.run(for: .milliseconds(50))
    mesh.links.cut(0, 1)
    mesh.run(for: .seconds(3))
    mesh.press(1)
    mesh.run(for: .seconds(2))
    #expect(starts(mesh, node: 1).isEmpty)
    #expect(has(mesh, node: 1) { $0 == .unheard(.noAnswer) })
  }

  @Test(arguments: [2, 3, 10, 32])
  func nearSimultaneousPressesGiveExactlyOneGrantEach(count: Int) {
    var mesh = FloorMesh(
      count: count, seed: UInt64(count),
      links: LinkModel(delay: .milliseconds(1), jitter: .milliseconds(3)))
    mesh.run(for: .milliseconds(50))
    var grants = 0
    for round in 0..<40 {
      let pair = [round % count, (round * 7 + 1) % count]
      for node in Set(pair) { mesh.press(node, after: .milliseconds(node % 3)) }
      mesh.run(for: .milliseconds(100))
      grants += mesh.machines.filter { $0.snapshot.state == .ours }.count
      for node in Set(pair) { mesh.release(node) }
      mesh.run(for: .milliseconds(300))
    }
    #expect(grants == 40)
    #expect(overlaps(mesh).isEmpty)
  }

  @Test(arguments: 1...20)
  func lossyTalkWithChangingTalkersNeverSticks(seed: Int) {
    var mesh = FloorMesh(
      count: 3, seed: UInt64(seed),
      links: LinkModel(
        delay: .milliseconds(5), jitter: .milliseconds(20), loss: 0.05, duplicates: 0.01))
    mesh.run(for: .milliseconds(50))
    for round in 0..<20 {
      let node = round % 3
      let before = starts(mesh, node: node).count
      mesh.press(node)
      mesh.run(for: .seconds(2))
      #expect(starts(mesh, node: node).count == before + 1, "seed \(seed), round \(round)")
      mesh.release(node)
      mesh.run(for: .milliseconds(500))
      #expect(mesh.machines.allSatisfy { $0.snapshot.state == .idle }, "seed \(seed)")
    }
    #expect(overlaps(mesh).isEmpty)
  }

  /// As in the lab: everyone's datagrams take 0 to 40 ms, one in twenty is lost, and each talker
  /// waits in the queue of the one before.
  @Test(arguments: 1...60)
  func everyHandOverOnABadNetworkReachesTheOneWhoWaits(seed: Int) {
    var mesh = FloorMesh(
      count: 3, seed: UInt64(seed),
      links: LinkModel(delay: .zero, jitter: .milliseconds(40), loss: 0.05))
    mesh.run(for: .milliseconds(500))
    mesh.press(0)
    mesh.run(for: .seconds(1))
    for round in 1...30 {
      let (before, next) = ((round - 1) % 3, round % 3)
      mesh.press(next)
      mesh.run(for: .milliseconds(400))
      #expect(mesh.machines[next].snapshot.state == .queued, "seed \(seed), round \(round)")
      mesh.release(before)
      mesh.run(for: .seconds(2))
      #expect(mesh.machines[next].snapshot.state == .ours, "seed \(seed), round \(round)")
      guard mesh.machines[next].snapshot.state == .ours else { return }
    }
    #expect(overlaps(mesh).isEmpty)
  }
}
