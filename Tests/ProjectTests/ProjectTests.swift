import Testing

/// The project's own rules, on its own files.
@Suite struct ProjectTests {
  @Test func everyTargetImportsOnlyWhatTheArchitectureAllows() {
    expectNone(ImportTable.violations)
  }

  @Test func thePureSetNamesNoClockNoChanceAndNoUnorderedTable() { expectNone(Purity.violations) }

  @Test func noFileIsTooLong() { expectNone(Shape.tooLong) }

  @Test func noLineIsTooWide() { expectNone(Shape.tooWide) }

  @Test func noFunctionIsTooLong() { expectNone(Shape.longFunctions) }

  @Test func everySymbolThatOthersSeeIsDocumented() { expectNone(Shape.undocumented) }

  @Test func nothingIsLeftForLaterInTheSource() { expectNone(Shape.leftovers) }

  @Test func theTopLevelHoldsWhatIsAgreedAndNothingElse() throws {
    let agreed = ["Package.swift", "Profiles", "README.md", "Sources", "Tests", "Tools"]
    let names = try SourceTree.topLevelNames()
    #expect(names.filter { !agreed.contains($0) } == [], "move it below Sources, Tests or Tools")
    for needed in ["Package.swift", "Sources", "Tests", "Tools"] {
      #expect(names.contains(needed))
    }
  }

  @Test func theFilesAreFound() {
    let targets = SourceTree.files.map(\.target)
    #expect(targets.contains("TalkCore") && targets.contains("ProjectTests"))
    #expect(SourceTree.files.contains { $0.path == "Tools/lab" })
  }

  private func expectNone(
    _ rule: (SourceFile) -> [Violation], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for violation in SourceTree.files.flatMap(rule) {
      Issue.record("\(violation.description)", sourceLocation: sourceLocation)
    }
  }
}
