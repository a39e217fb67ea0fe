import TalkCore
import TalkCrypto
import TalkFloor
import TalkMesh
import TalkNode
import TalkSim
import Testing

/// Whole nodes on days when the network or a file lets them down.
@Suite struct BadDayTests {
  /// The links of a simulated host: one, in the subnet of all.
  private static func links(of index: Int) -> [LinkAddress] {
    [
      LinkAddress(
        interface: 2, address: NodeMesh.endpoint(of: index).address, prefixLength: 24,
        isContainer: false)
    ]
  }

  private func crew(seed: UInt64) throws -> (NodeMesh, ChannelID) {
    let mesh = try NodeMesh(count: 3, seed: seed)
    for index in 0..<3 { mesh.input(index) { $0.linksChanged(Self.links(of: index), $1) } }
    let channel = try mesh.joinAll()
    mesh.run(for: .seconds(2))
    return (mesh, channel)
  }

  @Test func whoSpeaksIntoAnUnpluggedCableLearnsAtOnceThatNobodyHears() throws {
    let (mesh, channel) = try crew(seed: 11)
    try mesh.input(0) { node, step in
      try node.press(.latch, channel: nil, floorClass: .normal, step)
    }
    mesh.run(for: .seconds(1))
    #expect(mesh.hosts[0].node.floor(of: channel)?.state == .ours)
    let unplugged = mesh.now
    mesh.input(0) { $0.linksChanged([], $1) }
    let tone = mesh.told.first { told in
      guard told.node == 0, told.at >= unplugged, case .tone(_, let tone, _) = told.event else {
        return false
      }
      return tone == .unheard
    }
    #expect(tone?.at == unplugged)
    #expect(mesh.hosts[0].node.members(of: channel, now: mesh.now).allSatisfy { !$0.isPresent })
  }

  @Test func aCableThatIsBackBringsEverybodyBackWithinASecond() throws {
    let (mesh, channel) = try crew(seed: 12)
    mesh.input(0) { $0.linksChanged([], $1) }
    mesh.run(for: .milliseconds(500))
    mesh.input(0) { $0.linksChanged(Self.links(of: 0), $1) }
    mesh.run(for: .seconds(1))
    let members = mesh.hosts[0].node.members(of: channel, now: mesh.now)
    #expect(members.allSatisfy { $0.isPresent && $0.hearsMe && $0.iHear })
  }

  @Test func anotherLinkThatGoesConcernsNobodyOnThisOne() throws {
    let (mesh, channel) = try crew(seed: 13)
    let docker = LinkAddress(
      interface: 3, address: Endpoint(ipv4: 0xac11_0001, port: 0).address, prefixLength: 16,
      isContainer: true)
    mesh.input(0) { $0.linksChanged(Self.links(of: 0) + [docker], $1) }
    mesh.input(0) { $0.linksChanged(Self.links(of: 0), $1) }
    #expect(mesh.hosts[0].node.members(of: channel, now: mesh.now).allSatisfy { $0.isPresent })
  }

  @Test func aMemberThatIsAwayKeepsItsNameOverARestart() throws {
    let (mesh, channel) = try crew(seed: 14)
    let node = mesh.hosts[0].node
    let names = node.rememberedNames(of: channel)
    #expect(names.map(\.name).sorted() == ["node1", "node2"])
    let record = try #require(node.record(of: channel))
    let restarted = try Node(
      identity: Identity.forSimulation(seed: [UInt8](repeating: 0, count: 32), salt: 14),
      configuration: Node.Configuration(
        nickname: "node0", boot: 77, startCount: 2, seed: 1, port: 41_717, memory: .ordinary),
      channels: [record], current: channel, now: mesh.now)
    for entry in names { restarted.remember(entry.name, of: entry.peer, on: channel) }
    let members = restarted.members(of: channel, now: mesh.now)
    #expect(members.map(\.nickname).sorted() == ["node1", "node2"])
    #expect(members.allSatisfy { !$0.isPresent })
    // A stranger's name is not taken in.
    restarted.remember("mallory", of: PeerID(.zero), on: channel)
    #expect(restarted.rememberedNames(of: channel).count == 2)
  }

  // B9
  @Test func aNameComposedOtherwiseIsTheSameName() throws {
    let mesh = try NodeMesh(count: 1, seed: 16)
    let (composed, decomposed) = ("Caf\u{e9}", "Cafe\u{301}")
    var id: ChannelID?
    try mesh.input(0) { id = try $0.createChannel(composed, $1) }
    mesh.input(0) { node, step in
      #expect(throws: ChannelRefusal.nameTaken(composed)) {
        try node.createChannel(decomposed, step)
      }
    }
    #expect(try mesh.hosts[0].node.find(decomposed) == id)
  }

  // A15: what a static peer knows goes round without multicast.
  @Test func aNewcomerWithOneStaticPeerMeetsAllWithoutMulticast() throws {
    let mesh = try NodeMesh(count: 4, seed: 17)
    let channel = try mesh.joinAll(count: 3)
    mesh.run(for: .seconds(2))
    mesh.carriesHellos = false
    var line = ""
    try mesh.input(0) { line = try $0.invite(channel, for: .seconds(600), admitting: 1, $1) }
    let invite = try Invite(text: line, memory: .ordinary)
    try mesh.input(3) { _ = try $0.join(invite, $1) }
    mesh.input(3) { $0.addStaticPeer(NodeMesh.endpoint(of: 0), $1) }
    mesh.run(for: .seconds(30))
    let members = mesh.hosts[3].node.members(of: channel, now: mesh.now)
    #expect(members.count == 3)
    #expect(members.allSatisfy { $0.isPresent && $0.hearsMe && $0.iHear })
  }

  @Test func whatANodeAnnouncesAnewHasANewInstance() throws {
    let mesh = try NodeMesh(count: 1, seed: 15)
    var instances: [String] = []
    func note(_ body: (Node, Step) throws -> Void) rethrows {
      try mesh.input(0) { node, step in
        try body(node, step)
        node.wake(step)
        for case .publish(let instance, _) in step.cold { instances.append(instance) }
      }
    }
    note { _, _ in }
    try note { _ = try $0.createChannel("crew", $1) }
    try note { _ = try $0.createChannel("stage", $1) }
    note { $0.linksChanged(Self.links(of: 0), $1) }
    #expect(instances.count >= 3)
    #expect(Set(instances).count == instances.count)
  }
}
