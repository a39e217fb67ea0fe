package import TalkCore
package import TalkWire

/// What roster sync wants sent now.
package enum RosterSyncEffect: Equatable, Sendable {
  /// A `RosterPullBody` with our digest.
  case pull(PeerID)
  /// The record behind this place, in an `AdmitBody`: `roster.record(at:)`.
  case push(PeerID, Roster.RecordCursor)
  /// A `RosterDigestBody` with our digest and this many records pushed.
  case end(PeerID, count: UInt16)
}

/// Makes the rosters of two nodes equal: whoever sees another digest in a presence asks for the
/// other's records; records merge, so after each side has asked both have all (session.md,
/// "Floods": pull by digest, 4 in flight, its own 20 a second).
///
/// Drive it so: `sawDigest` with each presence; the `received…` calls with what comes of kinds
/// admit, rosterPull and rosterDigest, after the roster has merged it; at `deadline` and after each
/// of those take `next` until it is nil, and send it. `forget` a peer whose session is down.
///
/// Newcomers show their chains in AUTH to everyone, so digests differ for a moment and then agree
/// by themselves: nothing is pulled before they differ for two seconds. A pull that brought all and
/// left a difference (the other lacks ours) is not repeated until either digest changes.
package struct RosterSync: Sendable {
  /// The most pulls that wait for an answer, and the most peers that are pushed to at once.
  package static let inFlightLimit = 4
  /// The time between two messages: 20 a second.
  package static let gap: Duration = .milliseconds(50)
  /// How long digests must differ before records are asked for.
  package static let grace: Duration = .seconds(2)
  /// A pull of which nothing was heard for this long is given up.
  package static let patience: Duration = .seconds(5)
  /// The time before a pull that failed or lost something is tried again.
  package static let retry: Duration = .seconds(1)
  /// How long a pair of digests that a pull left different is left alone.
  package static let rest: Duration = .seconds(60)
  /// The most pairs of digests that are left alone.
  package static let settledLimit = 64

  private struct Want: Sendable {
    var digest: Bytes16
    var notBefore: Instant
  }

  private struct Pull: Sendable {
    var digest: Bytes16
    var received = 0
    var lastActivity: Instant
  }

  private struct Push: Sendable {
    var cursor: Roster.RecordCursor?
    var count: UInt16 = 0
    /// Only the end is to be sent: the asker's digest was ours.
    var isDone = false
  }

  private struct Settled: Sendable {
    var theirs: Bytes16
    var own: Bytes16
    var until: Instant
  }

  private var wants = OrderedTable<PeerID, Want>(limit: Roster.memberLimit)
  private var pulls = OrderedTable<PeerID, Pull>(limit: inFlightLimit)
  private var pushes = OrderedTable<PeerID, Push>(limit: inFlightLimit)
  private var settled: [Settled] = []
  private var lastPushed: PeerID?
  private var gate = Instant.zero

  /// Nothing to do yet.
  package init() {}

  /// When to call `next`; nil when there is nothing to do. May be early, never late.
  package var deadline: Instant? {
    var first: Instant?
    if !pushes.isEmpty { first = gate }
    for pull in pulls.values {
      first = Instant.earliest(first, pull.lastActivity + Self.patience)
    }
    if !pulls.isFull {
      for want in wants.values where !isPulled(want.digest) {
        first = Instant.earliest(first, max(want.notBefore, gate))
      }
    }
    return first
  }

  /// Whether records from `peer` are expected: others than those of its AUTH chain are unasked.
  package func isPulling(from peer: PeerID) -> Bool { pulls.index(of: peer) != nil }

  // MARK: Input

  /// A presence of `peer` names its digest.
  package mutating func sawDigest(
    _ theirs: Bytes16, of peer: PeerID, own: Bytes16, now: Instant
  ) {
    settled.removeAll { $0.until <= now }
    guard theirs != own, !isSettled(theirs, own) else {
      wants[peer] = nil
      return
    }
    if let index = wants.index(of: peer) {
      wants[at: index].digest = theirs
    } else if pulls.index(of: peer) == nil {
      wants[peer] = Want(digest: theirs, notBefore: now + Self.grace)
    }
  }

  /// `peer` asks for our records. A fifth asker is not answered, and asks again.
  package mutating func receivedPull(_ body: RosterPullBody, from peer: PeerID, own: Bytes16) {
    if pushes.index(of: peer) != nil || pushes.isFull { return }
    pushes[peer] = Push(isDone: body.digest == own)
  }

  /// A record of `peer`'s came, and was merged.
  package mutating func receivedRecord(from peer: PeerID, now: Instant) {
    guard let index = pulls.index(of: peer) else { return }
    pulls[at: index].received += 1
    pulls[at: index].lastActivity = now
  }

  /// `peer` has pushed all; `own` is our digest after merging.
  package mutating func receivedEnd(
    _ body: RosterDigestBody, from peer: PeerID, own: Bytes16, now: Instant
  ) {
    guard let pull = pulls[peer] else { return }
    pulls[peer] = nil
    guard body.digest != own else { return }
    if pull.received >= Int(body.count) {
      if settled.count >= Self.settledLimit { settled.removeFirst() }
      settled.append(Settled(theirs: body.digest, own: own, until: now + Self.rest))
    } else {
      wants[peer] = Want(digest: body.digest, notBefore: now + Self.retry)
    }
  }

  /// The session with `peer` is down.
  package mutating func forget(_ peer: PeerID) {
    wants[peer] = nil
    pulls[peer] = nil
    pushes[peer] = nil
  }

  // MARK: Output

  /// What to send now; nil when nothing is due. Take them until it is nil.
  package mutating func next(now: Instant, roster: Roster) -> RosterSyncEffect? {
    giveUp(now: now)
    guard gate <= now else { return nil }
    let effect = nextPull(now: now, own: roster.digest) ?? nextPush(roster: roster)
    if effect != nil { gate = now + Self.gap }
    return effect
  }

  private mutating func giveUp(now: Instant) {
    for peer in Array(pulls.keys) {
      guard let pull = pulls[peer], pull.lastActivity + Self.patience <= now else { continue }
      pulls[peer] = nil
      wants[peer] = Want(digest: pull.digest, notBefore: now + Self.retry)
    }
  }

  private mutating func nextPull(now: Instant, own: Bytes16) -> RosterSyncEffect? {
    guard !pulls.isFull else { return nil }
    // What differed may agree by now.
    wants.removeAll { $1.digest == own }
    for index in wants.indices {
      let (peer, want) = wants.entry(at: index)
      guard want.notBefore <= now, !isPulled(want.digest) else { continue }
      wants[peer] = nil
      pulls[peer] = Pull(digest: want.digest, lastActivity: now)
      return .pull(peer)
    }
    return nil
  }

  /// Pushes one record to the next of those who asked, in turn.
  private mutating func nextPush(roster: Roster) -> RosterSyncEffect? {
    guard !pushes.isEmpty else { return nil }
    let index =
      lastPushed.flatMap { last in
        pushes.indices.first { pushes.entry(at: $0).key > last }
      } ?? 0
    let peer = pushes.entry(at: index).key
    lastPushed = peer
    if !pushes[at: index].isDone, let next = roster.record(after: pushes[at: index].cursor) {
      pushes[at: index].cursor = next.cursor
      pushes[at: index].count += 1
      return .push(peer, next.cursor)
    }
    let count = pushes[at: index].count
    pushes[peer] = nil
    return .end(peer, count: count)
  }

  private func isPulled(_ digest: Bytes16) -> Bool {
    pulls.values.contains { $0.digest == digest }
  }

  private func isSettled(_ theirs: Bytes16, _ own: Bytes16) -> Bool {
    settled.contains { $0.theirs == theirs && $0.own == own }
  }
}
