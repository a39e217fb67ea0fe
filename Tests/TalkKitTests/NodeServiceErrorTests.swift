import TalkStore
import Testing

@testable import TalkKit

@Suite struct NodeServiceErrorTests {
  struct Case: Sendable {
    let error: StoreError
    let exitCode: Int32

    static let all = [
      Case(error: .noHome, exitCode: 78), Case(error: .inUse("/s/lock", process: 7), exitCode: 75),
      Case(error: .looseMode("/s", mode: 0o755), exitCode: 77),
      Case(error: .foreignOwner("/s", user: 1), exitCode: 77),
      Case(error: .noPermission("/s"), exitCode: 77), Case(error: .missing("/s"), exitCode: 78),
      Case(error: .zeroed("/s"), exitCode: 78), Case(error: .diskFull("/s"), exitCode: 78),
    ]
  }

  @Test(arguments: Case.all)
  func `a state file that cannot be used ends in its exit code and names itself`(_ test: Case) {
    let error = NodeServiceError(test.error)
    #expect(error.exitCode == test.exitCode)
    #expect(error.message == test.error.description)
    if let path = test.error.path { #expect(error.message.hasPrefix("\(path): ")) }
  }

  @Test func `a socket that cannot be served ends in its exit code`() {
    #expect(NodeServiceError(.inUse("/s")).exitCode == 75)
    #expect(NodeServiceError(.badFolder("/s", "x")).exitCode == 77)
    #expect(NodeServiceError(.pathTooLong("/s")).exitCode == 64)
    #expect(NodeServiceError(.notASocket("/s")).exitCode == 69)
  }
}
