package import TalkCore

/// Our identity was seen on another machine.
package struct CloneSighting: Equatable, Sendable {
  /// Where the other one is.
  package var endpoint: Endpoint
  /// Whether this node started later than the other, so that it must be mute.
  package var weAreLater: Bool
}

/// Notices that the same identity runs on two machines, as a copied disk or home directory does
/// (mesh.md, "Presence").
///
/// Drive it so: call `saw` with each presence that comes over a session whose AUTH proved our own
/// identity. A HELLO proves nobody's identity, so it alone is never evidence.
package struct CloneWatch: Sendable {
  /// The sightings of one endpoint are told at most once in this time.
  package static let tellGap: Duration = .seconds(300)
  /// Starts that are nearer to each other than this count as one; the boot instance decides.
  package static let sameStart: Duration = .seconds(2)
  private static let endpointLimit = 16

  private let own: PeerID
  private let bootInstance: UInt64
  private let started: Instant
  private var told = OrderedTable<Endpoint, Instant>(limit: endpointLimit)

  /// Watches over the identity `own` of the node that started as `bootInstance` at `started`.
  package init(own: PeerID, bootInstance: UInt64, started: Instant) {
    self.own = own
    self.bootInstance = bootInstance
    self.started = started
  }

  /// `peer` proved itself at `endpoint`, in its boot instance and with the uptime (seconds) that
  /// its presence names. A sighting when that is us on another machine, and not told lately.
  package mutating func saw(
    _ peer: PeerID, bootInstance theirs: UInt64, uptime: UInt32, at endpoint: Endpoint,
    now: Instant
  ) -> CloneSighting? {
    guard peer == own, theirs != bootInstance else { return nil }
    told.removeAll { _, at in now - at >= Self.tellGap }
    guard told[endpoint] == nil, !told.isFull else { return nil }
    told[endpoint] = now
    let ahead = now - started - .seconds(Int64(uptime))
    let isTie = ahead < Self.sameStart && ahead > .zero - Self.sameStart
    return CloneSighting(
      endpoint: endpoint, weAreLater: isTie ? bootInstance > theirs : ahead < .zero)
  }
}
