import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkCLI
@testable import TalkKit

/// A node for `run` that serves a socket with a fake behind it.
final class ServingNode: RunnableNode, @unchecked Sendable {
  private let path: String
  private let failure: NodeServiceError?
  private let stopped = DispatchSemaphore(value: 0)
  private(set) var stops = 0

  init(path: String, failure: NodeServiceError? = nil) {
    self.path = path
    self.failure = failure
  }

  func run() throws(NodeServiceError) {
    if let failure { throw failure }
    let server: ControlServer
    do throws(ControlError) {
      server = try ControlServer(path: path, handler: FakeNode())
    } catch {
      throw NodeServiceError(error)
    }
    stopped.wait()
    server.close()
  }

  func stop() {
    stops += 1
    stopped.signal()
  }
}

/// One at a time: the signals and the terminal's mode are the process's.
@Suite(.serialized) struct RunCommandTests {
  static func run(
    _ node: ServingNode, _ scratch: Scratch, _ terminal: Terminal, headless: Bool = false
  ) -> Int32 {
    let context = Context(
      environment: [:], input: terminal.slave, output: terminal.slave, error: terminal.slave,
      makeNode: { _ throws(NodeServiceError) in node })
    let arguments = ["run", "--state", scratch.path] + (headless ? ["--headless"] : [])
    return CommandTable.run(arguments, in: context)
  }

  @Test func `run shows the screen of its own node, and q ends both`() throws {
    let scratch = Scratch()
    let terminal = Terminal()
    let node = ServingNode(path: scratch.socket)
    let ended = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var code: Int32 = -1
    Thread.detachNewThread {
      code = Self.run(node, scratch, terminal)
      ended.signal()
    }
    #expect(terminal.wait { $0.contains("ben b0000000") })
    terminal.type("q")
    #expect(ended.wait(timeout: .now() + 10) == .success)
    #expect(code == 0)
    #expect(node.stops == 1)
    #expect(mode(scratch.socket) == nil)
  }

  @Test(arguments: [true, false])
  func `a node that cannot start ends run with its line and exit code`(_ headless: Bool) {
    let scratch = Scratch()
    let failures: [(NodeServiceError, Int32)] = [
      (.usage("a"), 64), (.unavailable("a"), 69), (.secondCopy("a"), 75), (.noPermission("a"), 77),
      (.state("a"), 78),
    ]
    for (failure, code) in failures {
      let terminal = Terminal()
      let node = ServingNode(path: scratch.socket, failure: failure)
      #expect(Self.run(node, scratch, terminal, headless: headless) == code)
      #expect(terminal.shown.contains("talkaround: a\r\n"))
    }
  }
}
