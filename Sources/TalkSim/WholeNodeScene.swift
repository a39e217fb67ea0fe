import TalkCore
import TalkNode
import TalkVoice
import TalkWire

/// Whole nodes on one channel that talk one after the other, with marked frames: to measure speed,
/// and that a listener's slots hold one voice at a time.
package final class WholeNodeScene {
  private let mesh: NodeMesh
  private var channel: ChannelID?
  private static let turn = Duration.milliseconds(4_700)

  /// Nodes that do not know each other yet; nil when memory for them can't be had.
  package init?(nodes: Int, seed: UInt64) {
    let links = LinkModel(delay: .milliseconds(1), jitter: .milliseconds(2))
    guard
      let mesh = try? NodeMesh(count: nodes, seed: seed, links: links, coding: .marked)
    else { return nil }
    self.mesh = mesh
    mesh.keepsSound = false
    for (index, host) in mesh.hosts.enumerated() {
      let mark = Self.mark(of: index)
      host.microphone = { _ in mark }
    }
  }

  /// The sample that stands for a node's voice.
  private static func mark(of node: Int) -> Int16 { Int16(2_000 + 400 * node) }

  /// Puts all on one channel; false when that fails.
  package func join() -> Bool {
    channel = try? mesh.joinAll()
    return channel != nil
  }

  /// One after the other presses, in rounds, for so long.
  package func talk(seconds: Int) {
    let end = mesh.now + .seconds(seconds)
    var round = 0
    while mesh.now < end {
      let talker = round % mesh.hosts.count
      round += 1
      mesh.input(talker) { node, step in
        _ = try? node.press(.latch, channel: channel, floorClass: .normal, step)
      }
      mesh.run(for: min(Self.turn, end - mesh.now))
      mesh.input(talker) { $0.release(.latch, $1) }
      mesh.run(for: .milliseconds(300))
    }
  }

  /// For each node how often it played each node's voice at full level, in slots of 20 ms.
  package var heard: [[Int]] {
    mesh.hosts.map { host in
      var counts = [Int](repeating: 0, count: mesh.hosts.count)
      for sample in host.played where sample >= Self.mark(of: 0) {
        let node = (Int(sample) - 2_000) / 400
        if node < counts.count, sample == Self.mark(of: node) { counts[node] += 1 }
      }
      return counts
    }
  }
}
