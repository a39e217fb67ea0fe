import TalkDiscovery
import Testing

/// A network on which somebody defends every name.
@Suite struct RenamesTests {
  // A2
  @Test func fiveNamesAreTriedInARowAndTheEndIsSaidOnce() {
    var renames = Renames()
    let answers = (1...8).map { _ in renames.collided() }
    #expect(answers == [.rename, .rename, .rename, .rename, .rename, .giveUp, .quiet, .quiet])
    renames.registered()
    #expect(renames.collided() == .rename)
  }
}
