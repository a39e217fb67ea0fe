import Foundation
import Testing

@testable import TalkCLI

@Suite struct CompletionTests {
  let grammar = CompletionGrammar(commands: CommandTable.commands)

  struct Case: Sendable, CustomTestStringConvertible {
    /// What is typed; the cursor is at its end.
    let line: String
    /// What is offered, in any order.
    let offered: [String]
    var testDescription: String { line }

    static let all = [
      Case(line: "talkaround ch", offered: ["channel"]),
      Case(line: "talkaround channel ", offered: ["create", "leave", "list", "show", "use"]),
      Case(line: "talkaround channel l", offered: ["leave", "list"]),
      Case(line: "talkaround channel create ", offered: []),
      Case(line: "talkaround channel create hall --js", offered: []),
      Case(line: "talkaround talk ", offered: ["hold", "press", "release", "toggle"]),
      Case(line: "talkaround talk --f", offered: ["--file"]),
      Case(line: "talkaround talk hold --f", offered: []),
      Case(line: "talkaround --state /tmp status --j", offered: ["--json"]),
      Case(line: "talkaround --state=/tmp status --j", offered: ["--json"]),
      Case(line: "talkaround run --capture n", offered: ["null"]),
      Case(line: "talkaround run --capture=p", offered: ["pulse"]),
      Case(line: "talkaround run --port ", offered: []),
      Case(line: "talkaround completion ", offered: ["bash", "fish", "zsh"]),
      Case(line: "talkaround frobnicate ", offered: []),
    ]
  }

  @Test(arguments: Case.all)
  func `bash offers what may come next`(_ given: Case) throws {
    // Words as bash splits them for completion: an equals sign is a word of its own.
    let words = given.line.replacing("=", with: " = ").split(
      separator: " ", omittingEmptySubsequences: false
    ).map(String.init)
    let script = """
      complete() { :; }; compopt() { :; }
      \(grammar.bash)
      COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _talkaround
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let offered = try Self.bash(script).split(separator: "\n").map(String.init)
    #expect(offered.sorted() == given.offered)
  }

  private static func bash(_ script: String) throws -> String {
    let empty = Scratch()
    let process = Process()
    process.currentDirectoryURL = URL(fileURLWithPath: empty.path)
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["--norc", "-c", script]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(String(decoding: data, as: UTF8.self))")
    return String(decoding: data, as: UTF8.self)
  }

  @Test func `every command and every option is in all three scripts`() {
    for script in [grammar.bash, grammar.zsh, grammar.fish] {
      for command in CommandTable.commands {
        for word in command.words { #expect(script.contains(word)) }
        for option in command.options + ArgumentParser.globalOptions {
          #expect(script.contains(option.name.dropFirst(2)), "\(option.name)")
        }
      }
    }
  }

  @Test func `a quote in a help text does not end a text of zsh or fish`() {
    let odd = Command("odd", options: [Option("--it", help: "it's: so")], summary: "isn't it") {
      _, _ in 0
    }
    let grammar = CompletionGrammar(commands: [odd])
    #expect(grammar.zsh.contains(#"'odd:isn'\''t it'"#))
    #expect(grammar.zsh.contains(#"'--it:it'\''s: so'"#))
    #expect(grammar.fish.contains(#"-d 'isn\'t it'"#))
  }

  @Test func `an unknown shell is named, with the nearest one`() throws {
    let program = try Program(["completion", "fihs"])
    #expect(program.end() == 64)
    #expect(program.errors.contains("did you mean 'fish'?"))
  }
}

@Suite struct ManualTests {
  let lines = ManualPage(commands: CommandTable.commands).text.split(separator: "\n")

  @Test func `the manual has every command with its options`() {
    let text = lines.joined(separator: "\n")
    for command in CommandTable.commands where !command.words.isEmpty {
      #expect(text.contains("\"\(command.name) \"") || text.contains(".B \(command.name)"))
      for option in command.options {
        #expect(text.contains(option.name.replacing("-", with: #"\-"#)))
      }
    }
  }

  @Test func `no line of text can be taken for a macro`() {
    let macros = [".TH", ".SH", ".TP", ".B", ".BI", ".BR", ".PP", ".RS", ".RE"]
    for line in lines where line.hasPrefix(".") || line.hasPrefix("'") {
      #expect(macros.contains { line == $0 || line.hasPrefix($0 + " ") }, "\(line)")
    }
    let odd = Command("odd", summary: "x", notes: [".SH is no heading", #"a\b"#]) { _, _ in 0 }
    let page = ManualPage(commands: [odd]).text
    #expect(page.contains("\n\\&.SH is no heading"))
    #expect(page.contains(#"a\eb"#))
  }
}
