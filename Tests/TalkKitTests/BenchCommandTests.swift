import Foundation
import Testing

@testable import TalkCLI

/// `talkaround bench` as a script meets it.
@Suite struct BenchCommandTests {
  @Test func itsHelpListsTheBenches() {
    let text = HelpText(commands: CommandTable.commands).text(for: ["bench"])
    #expect(text.contains("bench floor"))
  }

  @Test func aBenchWithoutANameSaysWhichThereAre() throws {
    let program = try Program(["bench"])
    #expect(program.end() == 64)
    #expect(program.errors == "talkaround: 'talkaround bench' needs one of: floor\n")
  }

  @Test(arguments: ["0", "-1", "1001", "ten"])
  func aWrongNumberOfSeedsIsRefused(_ seeds: String) throws {
    let program = try Program(["bench", "floor", "--seeds=\(seeds)"])
    #expect(program.end() == 64)
    #expect(program.errors.contains("--seeds takes a whole number from 1 to 1000, not '\(seeds)'"))
    #expect(program.output.isEmpty)
  }

  @Test func theFloorsJSONComesAloneOnStandardOutputAndTheExitCodeSaysTheVerdict() throws {
    let program = try Program(["bench", "floor", "--quick", "--seeds", "1", "--json"])
    let code = try #require(program.end())
    // A pipe is no terminal: no progress is told.
    #expect(program.errors.isEmpty)
    let object = try #require(
      JSONSerialization.jsonObject(with: Data(program.output.utf8)) as? [String: Any])
    #expect(object["v"] as? Int == 1)
    #expect((object["scenarios"] as? [Any])?.isEmpty == false)
    let met = try #require(object["met"] as? Bool)
    #expect(code == (met ? 0 : 1))
  }
}
