import TalkCore
import TalkFloor
import TalkMesh
import TalkNode
import TalkSim
import Testing

/// Whole nodes, sessions and codec included, on a simulated network.
@Suite struct NodeScenarioTests {
  /// A voice-like tone that changes with time.
  private static func hum(_ index: Int) -> Int16 {
    let time = Double(index) / 48_000
    let envelope = 0.5 + 0.5 * Platform.sine(2 * .pi * 3 * time)
    return Int16(9_000 * envelope * Platform.sine(2 * .pi * 440 * time))
  }

  private func press(_ mesh: NodeMesh, _ index: Int) throws {
    try mesh.input(index) { node, step in
      try node.press(.latch, channel: nil, floorClass: .normal, step)
    }
  }

  private func release(_ mesh: NodeMesh, _ index: Int) {
    mesh.input(index) { $0.release(.latch, $1) }
  }

  @Test func threeNodesJoinByInviteAndSeeOneAnother() throws {
    let mesh = try NodeMesh(count: 3, seed: 1)
    let channel = try mesh.joinAll()
    mesh.run(for: .seconds(2))
    for host in mesh.hosts {
      let members = host.node.members(of: channel, now: mesh.now)
      #expect(members.count == 2)
      #expect(members.allSatisfy { $0.isPresent && $0.hearsMe && $0.iHear })
      #expect(!host.node.isJoining(channel))
    }
  }

  @Test func comingAndGoingSoundsOnlyForWhoWantsThat() throws {
    let mesh = try NodeMesh(count: 3, seed: 5)
    mesh.hosts[0].node.silentTones = []
    _ = try mesh.joinAll()
    mesh.run(for: .seconds(2))
    mesh.input(2) { $0.stop($1) }
    mesh.crash(2)
    mesh.run(for: .seconds(400))
    func tones(_ index: Int) -> [ToneEvent] {
      mesh.told.filter { $0.node == index }.compactMap { told in
        if case .tone(_, let tone, .member) = told.event { tone } else { nil }
      }
    }
    #expect(tones(0) == [.came, .came, .left])
    #expect(tones(1) == [])
  }

  @Test func whatOneSaysTheOthersHear() throws {
    let mesh = try NodeMesh(count: 3, seed: 2)
    let channel = try mesh.joinAll()
    mesh.run(for: .seconds(2))
    mesh.hosts[1].microphone = Self.hum
    try press(mesh, 1)
    mesh.run(for: .seconds(2))
    #expect(mesh.hosts[0].node.floor(of: channel)?.token?.id.holder == mesh.hosts[1].node.me)
    release(mesh, 1)
    mesh.run(for: .seconds(1))
    for listener in [0, 2] {
      let loud = mesh.hosts[listener].played.filter { abs(Int($0)) > 500 }.count
      #expect(loud > 48_000, "listener \(listener) heard \(loud) loud samples")
    }
    let heard = mesh.told.compactMap { told -> Int? in
      if case .heard(_, _, let by, let missed) = told.event, told.node == 1 {
        return missed.isEmpty ? by.count : -1
      }
      return nil
    }
    #expect(heard == [2])
  }

  @Test func pressWhileAnotherTalksShowsItsNameAndAPlace() throws {
    let mesh = try NodeMesh(count: 3, seed: 3)
    let channel = try mesh.joinAll()
    mesh.run(for: .seconds(2))
    try press(mesh, 0)
    mesh.run(for: .milliseconds(500))
    try press(mesh, 1)
    mesh.run(for: .milliseconds(100))
    #expect(mesh.hosts[1].node.floor(of: channel)?.state == .queued)
    let tones = mesh.told.filter { $0.node == 1 }.compactMap { told -> ToneReason? in
      if case .tone(_, _, let reason) = told.event { reason } else { nil }
    }
    #expect(tones.contains(.holder(mesh.hosts[0].node.me)))
    #expect(tones.contains(.place(1)))
    release(mesh, 0)
    mesh.run(for: .milliseconds(100))
    #expect(mesh.hosts[1].node.isTransmitting)
    release(mesh, 1)
    mesh.run(for: .milliseconds(300))
    #expect(mesh.hosts.allSatisfy { $0.node.floor(of: channel)?.state == .idle })
  }

  @Test func talkOfManyBurstsAtFivePercentLossNeverSticks() throws {
    let mesh = try NodeMesh(
      count: 3, seed: 4,
      links: LinkModel(delay: .milliseconds(2), jitter: .milliseconds(20), loss: 0.05))
    let channel = try mesh.joinAll()
    mesh.run(for: .seconds(4))
    for round in 0..<12 {
      let talker = round % 3
      try press(mesh, talker)
      mesh.run(for: .seconds(5))
      #expect(mesh.hosts[talker].node.isTransmitting, "round \(round)")
      release(mesh, talker)
      mesh.run(for: .milliseconds(400))
      #expect(mesh.hosts.allSatisfy { $0.node.floor(of: channel)?.state == .idle })
    }
  }

  @Test func strangerWithAnotherSecretHearsAndGetsNothing() throws {
    let mesh = try NodeMesh(count: 3, seed: 5)
    try mesh.input(0) { _ = try $0.createChannel("crew", $1) }
    try mesh.input(2) { _ = try $0.createChannel("crew", $1) }
    mesh.run(for: .seconds(5))
    #expect(mesh.hosts[2].node.members(of: mesh.hosts[2].node.current!, now: mesh.now).isEmpty)
    #expect(mesh.told.allSatisfy { if case .wantsIn = $0.event { false } else { true } })
  }

  @Test func invitedOneWaitsWhileTheWindowIsClosedAndJoinsOnceItIsOpen() throws {
    let mesh = try NodeMesh(count: 3, seed: 6)
    let channel = try mesh.joinAll(count: 2)
    var line = ""
    try mesh.input(0) { line = try $0.invite(channel, for: .seconds(1), admitting: 1, $1) }
    mesh.run(for: .seconds(3))
    try mesh.input(2) { node, step in
      _ = try node.join(try Invite(text: line, memory: .ordinary), step)
    }
    mesh.run(for: .seconds(10))
    #expect(mesh.hosts[2].node.isJoining(channel))
    let asks = mesh.told.contains { told in
      if case .wantsIn(_, let peer, _) = told.event { peer == mesh.hosts[2].node.me } else { false }
    }
    #expect(asks)
    #expect(mesh.hosts[2].played.isEmpty)
    try mesh.input(0) { _ = try $0.invite(channel, for: .seconds(60), admitting: 1, $1) }
    mesh.run(for: .seconds(20))
    #expect(!mesh.hosts[2].node.isJoining(channel))
    #expect(mesh.hosts[2].node.members(of: channel, now: mesh.now).count == 2)
  }
}
