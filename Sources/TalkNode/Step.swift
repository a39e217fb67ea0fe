package import TalkCore

/// A datagram that waits in the slab for `sendmmsg`.
package struct Outgoing: Sendable {
  /// Where in the slab.
  package var range: Range<Int>
  /// Where to.
  package var endpoint: Endpoint
}

/// Something rare that a step wants done; it may allocate, frames never pass here.
package enum ColdEffect: Sendable {
  /// Persist that turns of a channel may be used up to this one, then call `turnsReserved`.
  case reserveTurns(ChannelID, through: UInt64)
  /// Persist what the node knows of a channel: its secret, its roster, its name.
  case saveChannel(ChannelID)
  /// Forget a channel on disk.
  case forgetChannel(ChannelID)
  /// Publish this instance and these TXT strings over mDNS.
  case publish(instance: String, txt: [[UInt8]])
  /// Tell the people and programs that watch.
  case tell(NodeEvent)
}

/// What one call of the node may use and what it wants done; owned by the shell and reused, so that
/// the hot path allocates nothing (architecture.md, "The loop contract").
///
/// The shell sets `now` and refills `entropy` before each input, performs `hellos`, `sends` and
/// `cold` in that order after it, and calls `removeAll`.
package final class Step {
  /// The time of this input.
  package var now = Instant.zero
  /// Random bytes; empty means that what needs them is refused and counted.
  package var entropy = EntropyPool()
  /// Where datagrams are written and sealed.
  package let slab = Slab()
  /// Datagrams for one endpoint each.
  package private(set) var sends: [Outgoing] = []
  /// Datagrams for every usable link: HELLOs.
  package private(set) var hellos: [Range<Int>] = []
  /// Rare effects.
  package private(set) var cold: [ColdEffect] = []

  /// A step whose lists have room for a frame to 1,000 listeners.
  package init() {
    sends.reserveCapacity(1_024)
    hellos.reserveCapacity(16)
    cold.reserveCapacity(64)
  }

  /// Records a datagram.
  package func send(_ range: Range<Int>, to endpoint: Endpoint) {
    sends.append(Outgoing(range: range, endpoint: endpoint))
  }

  /// Records a HELLO.
  package func hello(_ range: Range<Int>) { hellos.append(range) }

  /// Records a rare effect.
  package func record(_ effect: ColdEffect) { cold.append(effect) }

  /// True when there is nothing to perform.
  package var isEmpty: Bool { sends.isEmpty && hellos.isEmpty && cold.isEmpty }

  /// Forgets everything that was performed.
  package func removeAll() {
    sends.removeAll(keepingCapacity: true)
    hellos.removeAll(keepingCapacity: true)
    cold.removeAll(keepingCapacity: true)
    slab.removeAll()
  }
}
