/// What a meter measured of one protocol in one scenario, over all seeds.
package struct FloorFigures: Sendable {
  /// Press to grant, of presses that found the floor idle and were the next to be granted.
  package var access = Distribution()
  /// The last talker's end to the queued talker's start.
  package var handOver = Distribution()
  /// Press to grant of a class above the talker's.
  package var preemption = Distribution()
  /// A talker's death to the moment that a listener no longer shows it, one sample a listener.
  package var crashToFree = Distribution()
  /// A talker's death to the next queued talker's start.
  package var crashToNext = Distribution()
  /// The session with a talker to its first frame that is rendered.
  package var lateEntry = Distribution()
  /// The person's letting go to the moment that the node takes the key for up.
  package var release = Distribution()
  /// Presses that a floor was told of; those of nodes that died waiting are left out.
  package var presses = 0
  /// Of them, those that ended, or that the run left, without a grant.
  package var unservedPresses = 0
  /// Bursts that began.
  package var bursts = 0
  /// Of them, those beside which another talker in reach talked.
  package var overlappedBursts = 0
  /// The longest time that two talkers in reach of each other talked at once.
  package var longestOverlap = Duration.zero
  /// Frames that left, once for each listener that was up and not cut off.
  package var framesDue = 0
  /// Of them, those that were rendered.
  package var framesRendered = 0
  /// Control messages to all, without heartbeats.
  package var groupSends = 0
  /// Control messages to one, without heartbeats.
  package var singleSends = 0
  /// Virtual time that was simulated.
  package var simulated = Duration.zero
  /// Processor time that it took.
  package var spent = Duration.zero

  /// Nothing measured yet.
  package init() {}

  /// Adds another run's.
  package mutating func add(_ other: FloorFigures) {
    access.add(other.access)
    handOver.add(other.handOver)
    preemption.add(other.preemption)
    crashToFree.add(other.crashToFree)
    crashToNext.add(other.crashToNext)
    lateEntry.add(other.lateEntry)
    release.add(other.release)
    presses += other.presses
    unservedPresses += other.unservedPresses
    bursts += other.bursts
    overlappedBursts += other.overlappedBursts
    longestOverlap = max(longestOverlap, other.longestOverlap)
    framesDue += other.framesDue
    framesRendered += other.framesRendered
    groupSends += other.groupSends
    singleSends += other.singleSends
    simulated += other.simulated
    spent += other.spent
  }

  /// How many frames that were due were not rendered.
  package var framesLost: Int { max(framesDue - framesRendered, 0) }
}
