import Testing

/// Each rule must catch what it is for, and let pass what looks like it.
@Suite struct CanaryTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let code: String
    var path = "Sources/TalkFloor/Bad.swift"
    var testDescription: String { code }
  }

  static let badImports = [
    Case(code: "import Foundation"),
    Case(code: "package import TalkSession"),
    Case(code: "@preconcurrency import Dispatch"),
    Case(code: "import struct Foundation.Date"),
    Case(code: "import CSodium", path: "Sources/TalkNode/Bad.swift"),
    Case(code: "import Glibc", path: "Sources/TalkCore/Bytes.swift"),
    Case(code: "import TalkNode", path: "Sources/TalkNet/Bad.swift"),
    Case(code: "import TalkSim", path: "Sources/TalkKit/Bad.swift"),
    Case(code: "import TalkCore", path: "Sources/TalkSurprise/Bad.swift"),
  ]

  @Test(arguments: badImports) func anImportBeyondTheTableIsCaught(bad: Case) {
    #expect(ImportTable.violations(in: SourceFile(path: bad.path, text: bad.code)).count == 1)
  }

  static let goodImports = [
    Case(code: "package import TalkCore\nimport TalkWire"),
    Case(code: "// import Foundation\nlet text = \"import Dispatch\""),
    Case(code: "import Glibc", path: "Sources/TalkCore/Platform.swift"),
    Case(code: "import FoundationEssentials\nimport CLinux", path: "Sources/TalkKit/Good.swift"),
  ]

  @Test(arguments: goodImports) func anImportOfTheTablePasses(good: Case) {
    #expect(ImportTable.violations(in: SourceFile(path: good.path, text: good.code)).isEmpty)
  }

  static let impure = [
    "Task { }", "let t = ContinuousClock.now", "let t: Instant = .now", "return .now",
    "let d = Date()", "let u = UUID()", "var h = Hasher()", "usleep(5)",
    "Int.random(in: 0..<9)", "a.shuffled()", "a.randomElement()", "randombytes_buf(p, 4)",
    "crypto_sign_keypair(a, b)", "crypto_secretbox_keygen(k)", "crypto_pwhash(a)",
    "var s: Set<Int>", "let s = Set(a)", "var d: [PeerID: Int]", "var d: [Wire.Kind: [Int]]",
    "var d = Dictionary(grouping: a)", "var d: Dictionary<Int, Int>", "x = [:]", "print(1)",
  ]

  @Test(arguments: impure) func impurityIsCaught(code: String) {
    let file = SourceFile(path: "Sources/TalkMesh/Bad.swift", text: code)
    #expect(Purity.violations(in: file).count == 1)
    let edge = SourceFile(path: "Sources/TalkNet/Good.swift", text: code)
    #expect(Purity.violations(in: edge).isEmpty)
  }

  static let pure = [
    "let now = step.now", "Int.random(in: 0..<9, using: &generator)", "struct Flags: OptionSet {}",
    "let a: [Int] = [x ? Y : z]", "/// A Date, a Set<Int>.", "let s = \"Task.sleep\"",
    "a.shuffled(using: &g)", "table[offset: 4]", "\"\"\"\nUUID() \\\"\n\"\"\"", "/* Hasher */",
    "crypto_sign_seed_keypair(a)",
    "func hash(into hasher: inout Hasher) {}", "let tasks = Tasks()", "f(a)[B]",
  ]

  @Test(arguments: pure) func whatOnlyLooksImpurePasses(code: String) {
    let file = SourceFile(path: "Sources/TalkMesh/Good.swift", text: code)
    #expect(Purity.violations(in: file).map(\.description) == [])
  }

  @Test func aLongFileIsCaughtAtOneLineTooMany() {
    let full = String(repeating: "let a = 1\n", count: Shape.maxFileLines)
    #expect(Shape.tooLong(SourceFile(path: "Tools/a", text: full)).isEmpty)
    #expect(Shape.tooLong(SourceFile(path: "Tools/a", text: full + "x\n")).count == 1)
  }

  @Test func aWideLineIsCaughtAtOneColumnTooMany() {
    let full = String(repeating: "é", count: Shape.maxColumns)
    #expect(Shape.tooWide(SourceFile(path: "Tools/a", text: full)).isEmpty)
    #expect(Shape.tooWide(SourceFile(path: "Tools/a", text: full + "e")).count == 1)
  }

  @Test func aLongFunctionIsCaughtAtOneLineTooMany() {
    func function(lines: Int) -> SourceFile {
      let body = String(repeating: "  f { 1 }\n", count: lines - 2)
      let text = "struct A {\nfunc a(b: () -> Int = { 1 }) -> Int {\n\(body)}\nlet c = 1\n}\n"
      return SourceFile(path: "Sources/TalkKit/A.swift", text: text)
    }
    #expect(Shape.longFunctions(function(lines: Shape.maxFunctionLines)).isEmpty)
    #expect(Shape.longFunctions(function(lines: Shape.maxFunctionLines + 1)).count == 1)
  }

  static let undocumented = [
    "package func a() {}", "  public var b: Int { 1 }", "@inlinable public init() {}",
    "@frozen\npublic struct C {}", "public static let d = 1", "package private(set) var e = 1",
    "// a comment, not documentation\npackage enum F {}", "final public class G {}",
  ]

  @Test(arguments: undocumented) func asilentSymbolIsCaught(code: String) {
    let file = SourceFile(path: "Sources/TalkKit/A.swift", text: code)
    #expect(Shape.undocumented(file).count == 1)
  }

  static let documented = [
    "/// What it is.\npackage func a() {}", "/// What.\n@inlinable\npublic init() {}",
    "func inner() {}", "package import TalkCore", "public extension Int {\n}",
    "// public func gone() {}", "let package = Package(name: \"a\")", "let text = \"public let\"",
  ]

  @Test(arguments: documented) func aDocumentedOrInnerSymbolPasses(code: String) {
    let file = SourceFile(path: "Sources/TalkKit/A.swift", text: code)
    #expect(Shape.undocumented(file).map(\.description) == [])
  }

  @Test func workLeftForLaterIsCaught() {
    let file = SourceFile(path: "Sources/TalkKit/A.swift", text: "// TODO later\nlet a = 1")
    #expect(Shape.leftovers(file).count == 1)
  }
}
