import TalkFloor
import TalkSim
import Testing

/// Each checker catches a machine that is broken on purpose, and lets the shipped one pass the very
/// same runs.
@Suite struct CanaryTests {
  private enum PlaysEveryFrame: Broken { static let breakage = Breakage.playsEveryFrame }
  private enum PlaysWhatIsOver: Broken { static let breakage = Breakage.playsWhatIsOver }
  private enum DeafToRivals: Broken { static let breakage = Breakage.deafToRivals }
  private enum GrantsItself: Broken { static let breakage = Breakage.grantsItself }
  private enum IgnoresRelease: Broken { static let breakage = Breakage.ignoresRelease }
  private enum TalksAfterCancel: Broken { static let breakage = Breakage.talksAfterCancel }
  private enum ForgetsTurns: Broken { static let breakage = Breakage.forgetsTurns }
  private enum ThirdHand: Broken { static let breakage = Breakage.thirdHandRenewsLease }
  private enum TalksToNobody: Broken { static let breakage = Breakage.talksToNobody }
  private enum BelievesForged: Broken { static let breakage = Breakage.believesForgedGrants }
  private enum EndsFloors: Broken { static let breakage = Breakage.endsFloorsThatFade }
  private enum DropsFirst: Broken { static let breakage = Breakage.dropsFirstRequest }
  private enum NeverAnswers: Broken { static let breakage = Breakage.neverAnswers }
  private enum SwallowsDenies: Broken { static let breakage = Breakage.swallowsDenies }
  private enum IgnoresHeartbeats: Broken { static let breakage = Breakage.ignoresHeartbeats }
  private enum IgnoresOne: Broken { static let breakage = Breakage.ignoresOneMember }
  private enum SkipsFrames: Broken { static let breakage = Breakage.skipsFrames }
  private enum Floods: Broken { static let breakage = Breakage.floods }

  /// The runs that a canary must die in, at least once.
  private func runs(
    _ mix: String, _ invariant: String, seeds: Int, presses: Int = 25, nodes: Int? = nil
  ) throws -> [SimulationRun] {
    let mix = try #require(FaultMix.named(mix))
    return (1...seeds).map {
      SimulationRun(
        seed: UInt64($0), mix: mix, presses: presses, nodes: nodes, only: invariant)
    }
  }

  private func catches<Kind: Broken>(
    _ kind: Kind.Type, _ runs: [SimulationRun],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      runs.contains { $0.run(BrokenMachine<Kind>.self).violation != nil },
      "\(Kind.breakage) goes unnoticed", sourceLocation: sourceLocation)
    for run in runs {
      let violation = run.run().violation
      #expect(violation == nil, "\(run.command)", sourceLocation: sourceLocation)
    }
  }

  @Test func oneTalkerCheckerCatchesANodeThatPlaysEverything() throws {
    catches(PlaysEveryFrame.self, try runs("partitions", "S1", seeds: 4))
  }

  @Test func overTokenCheckerCatchesANodeThatPlaysOnBehindARelease() throws {
    catches(PlaysWhatIsOver.self, try runs("jitter", "S2", seeds: 4))
  }

  @Test func overlapCheckerCatchesAHolderThatHearsNoRival() throws {
    catches(DeafToRivals.self, try runs("partitions", "S3", seeds: 8, presses: 60))
  }

  @Test func twoHoldersCheckerCatchesANodeThatGrantsItself() throws {
    catches(GrantsItself.self, try runs("glare", "S4", seeds: 2))
  }

  @Test func mayTransmitCheckerCatchesANodeThatIgnoresTheRelease() throws {
    catches(IgnoresRelease.self, try runs("clean", "S5", seeds: 2))
  }

  @Test func stopsInTimeCheckerCatchesANodeThatIgnoresTheRelease() throws {
    catches(IgnoresRelease.self, try runs("clean", "A2", seeds: 2))
  }

  @Test func oneGrantCheckerCatchesABurstOfACancelledRequest() throws {
    catches(TalksAfterCancel.self, try runs("saturated", "S6", seeds: 3))
  }

  @Test func risingTurnsCheckerCatchesANodeThatForgetsItsTurns() throws {
    catches(ForgetsTurns.self, try runs("crashes", "S7", seeds: 2))
  }

  @Test func leaseCheckerCatchesALeaseRenewedAtThirdHand() throws {
    catches(ThirdHand.self, try runs("crashes", "S8", seeds: 8, presses: 40))
  }

  @Test func heardCheckerCatchesANodeThatTalksToNobody() throws {
    catches(TalksToNobody.self, try runs("partitions", "S9", seeds: 20, presses: 40))
  }

  @Test func authorityCheckerCatchesANodeThatBelievesForgedGrants() throws {
    catches(BelievesForged.self, try runs("liars", "S10", seeds: 3))
  }

  @Test func fadeCheckerCatchesANodeThatTakesAFloorItDoesNotHear() throws {
    catches(EndsFloors.self, try runs("fades", "S11", seeds: 12, presses: 40))
  }

  @Test func idleGrantCheckerCatchesARequestThatIsSentLate() throws {
    catches(DropsFirst.self, try runs("even", "L1", seeds: 6, presses: 40))
  }

  @Test func successorCheckerCatchesMembersThatNeverAnswer() throws {
    catches(NeverAnswers.self, try runs("crashes", "L2", seeds: 8, presses: 60))
  }

  @Test func endingRequestCheckerCatchesARefusalThatIsNotTold() throws {
    catches(SwallowsDenies.self, try runs("classes", "L3", seeds: 8, presses: 40))
  }

  @Test func oneViewCheckerCatchesANodeThatIgnoresHeartbeats() throws {
    catches(IgnoresHeartbeats.self, try runs("partitions", "L4", seeds: 10, presses: 40))
  }

  @Test func fairnessCheckerCatchesAFloorThatOneMemberNeverGets() throws {
    catches(IgnoresOne.self, try runs("saturated", "L5", seeds: 1, presses: 150, nodes: 3))
  }

  @Test func deliveryCheckerCatchesALostFrame() throws {
    catches(SkipsFrames.self, try runs("even", "A1", seeds: 1))
  }

  @Test func controlCheckerCatchesAFlood() throws {
    catches(Floods.self, try runs("clean", "C1", seeds: 1))
  }
}
