import Foundation
import Glibc
import Testing

@testable import TalkKit

@Suite struct ControlSocketTests {
  @Test func `the path follows the state directory, then the runtime directory`() throws {
    let both = ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/h"]
    #expect(try ControlPath.resolve(state: "/s/", environment: both) == "/s/control.sock")
    #expect(
      try ControlPath.resolve(state: nil, environment: both)
        == "/run/user/7/talkaround/control.sock")
    #expect(
      try ControlPath.resolve(state: nil, environment: ["HOME": "/h"])
        == "/h/.local/share/talkaround/control.sock")
  }

  @Test func `the socket is 0600 in a folder of 0700, and gone afterwards`() throws {
    let scratch = Scratch()
    let path = "\(scratch.path)/talkaround/control.sock"
    let server = try ControlServer(path: path, handler: FakeNode())
    #expect(mode(path) == 0o600)
    #expect(mode("\(scratch.path)/talkaround") == 0o700)
    server.close()
    #expect(mode(path) == nil)
  }

  @Test func `a stale socket is replaced, a living one is not`() throws {
    let scratch = Scratch()
    // A socket that was bound and whose owner is gone.
    let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let address = try UnixAddress(scratch.socket)
    #expect(address.withPointer { bind(stale, $0, $1) } == 0)
    close(stale)
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    #expect(throws: ControlError.inUse(scratch.socket)) {
      try ControlServer(path: scratch.socket, handler: FakeNode())
    }
    let client = try ControlClient(path: scratch.socket)
    #expect(try client.call(.status, as: StatusReport.self) == Sample.report())
    server.close()
  }

  @Test func `what is no socket is left alone`() throws {
    let scratch = Scratch()
    _ = FileManager.default.createFile(atPath: scratch.socket, contents: Data("mine".utf8))
    #expect(throws: ControlError.notASocket(scratch.socket)) {
      try ControlServer(path: scratch.socket, handler: FakeNode())
    }
    #expect(FileManager.default.contents(atPath: scratch.socket) == Data("mine".utf8))
  }

  @Test func `a socket that took the place of ours is not removed with it`() throws {
    let scratch = Scratch()
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    unlink(scratch.socket)
    _ = FileManager.default.createFile(atPath: scratch.socket, contents: Data())
    server.close()
    #expect(mode(scratch.socket) != nil)
  }

  @Test func `a path of 107 bytes works, and one more is refused with the cure`() throws {
    let scratch = Scratch()
    let name = String(repeating: "x", count: 107 - scratch.path.utf8.count - 1)
    let server = try ControlServer(path: "\(scratch.path)/\(name)", handler: FakeNode())
    server.close()
    let long = "\(scratch.path)/\(name)x"
    #expect(throws: ControlError.pathTooLong(long)) {
      try ControlServer(path: long, handler: FakeNode())
    }
    #expect(throws: ControlError.pathTooLong(long)) { try ControlClient(path: long) }
    #expect(ControlError.pathTooLong(long).description.contains("--state DIR"))
  }

  @Test func `a folder that others may use is refused`() throws {
    let scratch = Scratch()
    chmod(scratch.path, 0o755)
    do throws(ControlError) {
      _ = try ControlServer(path: scratch.socket, handler: FakeNode())
      Issue.record("served")
    } catch {
      #expect(error == .badFolder(scratch.path, "others may use it; chmod go= '\(scratch.path)'"))
    }
  }

  @Test func `no node is told apart from a node that is gone`() throws {
    let scratch = Scratch()
    #expect(throws: ControlError.noNode(scratch.socket)) {
      try ControlClient(path: scratch.socket)
    }
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    let client = try ControlClient(path: scratch.socket)
    _ = try client.call(.status)
    server.close()
    #expect(throws: ControlError.lost) { try client.call(.status) }
    #expect(throws: ControlError.noNode(scratch.socket)) {
      try ControlClient(path: scratch.socket)
    }
  }
}
