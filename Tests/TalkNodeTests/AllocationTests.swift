import CAllocationProbe
import TalkCore
import TalkNode
import TalkSim
import Testing

/// The hot path takes no memory: not for a frame that is sent, not for one that is heard.
@Suite struct AllocationTests {
  /// Two nodes by hand, so that nothing but the node itself runs between two counts.
  private func talk() throws -> (NodeMesh, talker: NodeMesh.Host, listener: NodeMesh.Host) {
    let mesh = try NodeMesh(count: 3, seed: 11)
    _ = try mesh.joinAll()
    mesh.run(for: .seconds(3))
    mesh.hosts[0].microphone = { Int16(truncatingIfNeeded: $0 &* 37 % 8_000) }
    try mesh.input(0) { node, step in
      try node.press(.latch, channel: nil, floorClass: .normal, step)
    }
    // Warm-up: tables and buffers have their sizes after a second of voice.
    mesh.run(for: .seconds(2))
    return (mesh, mesh.hosts[0], mesh.hosts[1])
  }

  @Test(.enabled(if: talk_probe_works() != 0, "a sanitizer has malloc for itself"))
  func framesAreSentHeardAndRenderedWithoutAllocations() throws {
    let (mesh, talker, listener) = try talk()
    let samples = [Int16](repeating: 1_000, count: 960)
    var target = [Int16](repeating: 0, count: 960)
    let endpoint = NodeMesh.endpoint(of: 1)
    let source = NodeMesh.endpoint(of: 0)
    let (sending, receiving) = (Step(), Step())
    for step in [sending, receiving] {
      step.entropy.refill { for index in $0.indices { $0[index] = UInt8(index & 255) } }
    }
    var now = mesh.now
    var counts: (sent: UInt64, heard: UInt64, rendered: UInt64) = (0, 0, 0)
    var frames = 0
    for round in 0..<60 {
      now += .milliseconds(20)
      sending.now = now
      receiving.now = now + .milliseconds(1)
      let before = talk_probe_allocations()
      samples.withUnsafeBufferPointer { talker.node.captured($0, sending) }
      let sent = talk_probe_allocations()
      var datagram = [UInt8]()
      for outgoing in sending.sends where outgoing.endpoint == endpoint {
        datagram = Array(sending.slab[outgoing.range])
      }
      try #require(!datagram.isEmpty)
      let ready = talk_probe_allocations()
      datagram.withUnsafeMutableBytes { listener.node.receive($0, from: source, receiving) }
      let heard = talk_probe_allocations()
      target.withUnsafeMutableBufferPointer { listener.node.render(into: $0, now: now) }
      let rendered = talk_probe_allocations()
      // A keepalive that fell due in this round is control, once a second, and no part of a frame.
      let isFrameAlone = receiving.sends.isEmpty
      sending.removeAll()
      receiving.removeAll()
      // The first rounds let the steps' own lists grow.
      guard round >= 10, isFrameAlone else { continue }
      frames += 1
      counts.sent += sent - before
      counts.heard += heard - ready
      counts.rendered += rendered - heard
    }
    #expect(frames >= 46)
    #expect(counts.sent == 0 && counts.heard == 0 && counts.rendered == 0, "\(counts)")
  }
}
