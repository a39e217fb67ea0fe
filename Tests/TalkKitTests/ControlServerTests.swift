import Foundation
import Glibc
import TalkCore
import TalkWire
import Testing

@testable import TalkKit

@Suite struct ControlServerTests {
  /// A server with its folder, closed at the end of the test.
  final class Running {
    let scratch = Scratch()
    let node: FakeNode
    let server: ControlServer

    init(_ node: FakeNode = FakeNode()) throws {
      self.node = node
      server = try ControlServer(path: scratch.socket, handler: node)
    }

    deinit { server.close() }

    func client() -> LineClient { LineClient(scratch.socket) }
  }

  static func request(_ method: String, id: String = "1", _ parameters: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(parameters)}"#
  }

  static let note = WatchEvent.Content.error(ErrorEvent(reason: .fault, message: "x"))

  @Test func `a request is answered under its own id, a notification not at all`() throws {
    let running = try Running()
    let client = running.client()
    client.send(#"{"jsonrpc":"2.0","method":"talk.hold"}"#)
    client.send(Self.request("channel.leave", id: "\"a\"", #"{"channel":"crew"}"#))
    #expect(client.line() == #"{"id":"a","jsonrpc":"2.0","result":{}}"#)
    client.send(Self.request("channel.leave", id: "null", #"{"channel":"crew"}"#))
    #expect(client.line() == #"{"id":null,"jsonrpc":"2.0","result":{}}"#)
    client.send(#"{"jsonrpc":"2.0","method":"no.such"}"#)
    client.send(Self.request("stop", id: "2") + "\r")
    #expect(client.line() == #"{"id":2,"jsonrpc":"2.0","result":{}}"#)
    #expect(
      running.node.requests == [
        .talkHold(.normal), .channelLeave("crew"), .channelLeave("crew"), .stop,
      ])
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let line: String
    let code: Int64
    let id: JSONValue
    var testDescription: String { String(line.prefix(40)) }

    static let all = [
      Bad(line: "hello", code: -32_700, id: .null),
      Bad(line: "{", code: -32_700, id: .null),
      Bad(line: "\u{0}", code: -32_700, id: .null),
      Bad(line: String(repeating: "[", count: 60_000), code: -32_700, id: .null),
      Bad(line: "[]", code: -32_600, id: .null),
      Bad(line: "7", code: -32_600, id: .null),
      Bad(line: #"{"id":1,"method":"status"}"#, code: -32_600, id: .integer(1)),
      Bad(line: #"{"jsonrpc":"1.0","id":1,"method":"status"}"#, code: -32_600, id: .integer(1)),
      Bad(line: #"{"jsonrpc":"2.0","id":1}"#, code: -32_600, id: .integer(1)),
      Bad(line: #"{"jsonrpc":"2.0","id":[],"method":"status"}"#, code: -32_600, id: .null),
      Bad(line: #"{"jsonrpc":"2.0","id":1,"method":"statsu"}"#, code: -32_601, id: .integer(1)),
      Bad(
        line: #"{"jsonrpc":"2.0","id":1,"method":"status","params":[1]}"#, code: -32_602,
        id: .integer(1)),
    ]
  }

  @Test(arguments: Bad.all)
  func `a bad line is answered by what is wrong, and the next one is heard`(_ bad: Bad) throws {
    let running = try Running()
    let client = running.client()
    client.send(bad.line)
    let answer = client.object()
    #expect(answer?["id"] == bad.id)
    #expect(answer?.failure?.code == bad.code)
    #expect(answer?.failure?.reason == "usage")
    client.send(Self.request("stop"))
    #expect(client.object()?["result"] == .object([:]))
    #expect(running.node.requests == [.stop])
  }

  @Test func `random bytes never end the server`() throws {
    let running = try Running()
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<40 {
      let client = running.client()
      let junk = (0..<2_000).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 5) }
      client.send(junk)
    }
    let client = running.client()
    client.send(Self.request("stop"))
    #expect(client.object()?["result"] == .object([:]))
  }

  @Test func `a line of 64 KiB is taken, and one byte more ends the connection`() throws {
    let running = try Running()
    let frame = Self.request("stop")
    func padded(to size: Int) -> String {
      frame + String(repeating: " ", count: size - frame.utf8.count)
    }
    let client = running.client()
    client.send(padded(to: ControlLimits.lineSize))
    #expect(client.object()?["result"] == .object([:]))
    client.send(padded(to: ControlLimits.lineSize + 1))
    #expect(client.object()?.failure?.message == "a line has at most 65536 bytes")
    #expect(client.isEnded())
    let endless = running.client()
    endless.send([UInt8](repeating: 0x20, count: ControlLimits.lineSize + 1))
    #expect(endless.object()?.failure?.code == -32_600)
    #expect(endless.isEnded())
  }

  @Test func `32 clients are served, and the 33rd is told why not`() throws {
    let running = try Running()
    let clients = (0..<ControlLimits.clients).map { _ in running.client() }
    for client in clients {
      client.send(Self.request("stop"))
      #expect(client.object()?["result"] == .object([:]))
    }
    let extra = running.client()
    #expect(extra.object()?.failure?.reason == "overload")
    #expect(extra.isEnded())
    shutdown(clients[0].descriptor, Int32(SHUT_RDWR))
    #expect(running.node.wait { $0.gone.count == 1 })
    let next = running.client()
    next.send(Self.request("stop"))
    #expect(next.object()?["result"] == .object([:]))
  }

  @Test func `more requests than may wait are answered when some are, each once`() throws {
    let node = FakeNode { $0 == .status ? nil : .success(.done) }
    let running = try Running(node)
    let client = running.client()
    let count = 3 * ControlLimits.waitingRequests
    for id in 0..<count { client.send(Self.request("status", id: "\(id)")) }
    #expect(node.wait { $0.keptCount == ControlLimits.waitingRequests })
    var ids: [JSONValue?] = []
    while ids.count < count {
      #expect(node.wait { $0.keptCount == ControlLimits.waitingRequests })
      node.answerKept(.success(.done))
      for _ in 0..<ControlLimits.waitingRequests { ids.append(client.object()?["id"]) }
    }
    #expect(ids == (0..<count).map { .integer(Int64($0)) })
  }

  @Test func `a client that dies while it holds the key is reported at once`() throws {
    let running = try Running()
    let holder = running.client()
    holder.send(Self.request("talk.hold"))
    _ = holder.object()
    let other = running.client()
    other.send(Self.request("talk.press"))
    _ = other.object()
    shutdown(holder.descriptor, Int32(SHUT_RDWR))
    #expect(running.node.wait { $0.gone == [$0.clients[0]] })
    #expect(running.node.clients[0] != running.node.clients[1])
    #expect(running.node.clients.allSatisfy { $0.number > 0 })
  }

  @Test func `a client that writes and hangs up has been heard`() throws {
    let running = try Running()
    do {
      let client = running.client()
      client.send(Self.request("talk.press"))
    }
    #expect(running.node.wait { $0.gone.count == 1 })
    #expect(running.node.requests == [.talkPress(.normal)])
  }

  @Test func `a client that ends its input still gets its answer`() throws {
    let node = FakeNode { _ in nil }
    let running = try Running(node)
    let client = running.client()
    client.send(Array(Self.request("status").utf8))
    client.endInput()
    #expect(node.wait { $0.keptCount == 1 })
    node.answerKept(.success(.done))
    #expect(client.object()?["result"] == .object([:]))
    #expect(client.isEnded())
    #expect(node.wait { $0.gone.count == 1 })
  }

  @Test func `a reply to a client that is gone goes nowhere`() throws {
    let node = FakeNode { $0 == .status ? nil : .success(.done) }
    let running = try Running(node)
    do {
      let client = running.client()
      client.send(Self.request("status"))
      #expect(node.wait { $0.keptCount == 1 })
    }
    #expect(node.wait { $0.gone.count == 1 })
    node.answerKept(.success(.done))
    let client = running.client()
    client.send(Self.request("stop"))
    #expect(client.object()?["result"] == .object([:]))
  }

  @Test func `events come after the snapshot that they build on, numbered without a gap`() throws {
    let node = FakeNode { $0 == .status ? nil : .success(.done) }
    let running = try Running(node)
    let client = running.client()
    running.server.publish(Self.note, at: .zero)
    client.send(Self.request("events.subscribe"))
    #expect(node.wait { $0.keptCount == 1 })
    // Before the status is given: it is part of it.
    running.server.publish(Self.note, at: .zero)
    node.answerKept(.success(.status(Sample.report())))
    for _ in 0..<3 { running.server.publish(Self.note, at: .zero) }
    #expect(client.object()?["result"] == .object([:]))
    let lines = (0..<4).map { _ in client.object() ?? [:] }
    #expect(lines.map(\.event) == ["snapshot", "error", "error", "error"])
    #expect(lines.map(\.seq) == [1, 2, 3, 4])
  }

  @Test func `levels go to those who ask for them alone`() throws {
    let running = try Running()
    let plain = running.client()
    plain.send(Self.request("events.subscribe"))
    _ = plain.object()
    #expect(plain.object()?.event == "snapshot")
    #expect(!running.server.wantsLevels)
    let keen = running.client()
    keen.send(Self.request("events.subscribe", #"{"levels":true}"#))
    _ = keen.object()
    #expect(keen.object()?.event == "snapshot")
    #expect(running.server.wantsLevels)
    let level = BurstEvent(
      channel: Sample.crew, turn: 1, speaker: Sample.ben, name: "ben", phase: .level, level: -9)
    running.server.publish(.burst(level), at: .zero)
    running.server.publish(Self.note, at: .zero)
    #expect(keen.object()?.event == "burst")
    #expect(plain.object()?.event == "error")
    shutdown(keen.descriptor, Int32(SHUT_RDWR))
    #expect(running.node.wait { _ in !running.server.wantsLevels })
  }

  @Test func `a reader that does not read is dropped, and the others get every event`() throws {
    let running = try Running()
    let slow = running.client()
    let quick = running.client()
    for client in [slow, quick] {
      client.send(Self.request("events.subscribe"))
      _ = client.object()
      #expect(client.object()?.event == "snapshot")
    }
    let big = WatchEvent.Content.error(
      ErrorEvent(reason: .fault, message: String(repeating: "x", count: 30_000)))
    for number in 1...120 {
      running.server.publish(big, at: .zero)
      #expect(quick.object()?.seq == Int64(number))
    }
    #expect(running.node.wait { $0.gone == [$0.clients[0]] })
    #expect(slow.isEnded())
  }

  @Test func `events beyond the limit are lost, and seq shows it`() throws {
    let gate = DispatchSemaphore(value: 0)
    let entered = DispatchSemaphore(value: 0)
    let node = FakeNode { request in
      if request == .talkPress(.normal) {
        entered.signal()
        gate.wait()
      }
      return FakeNode.ordinary(request)
    }
    let running = try Running(node)
    let client = running.client()
    client.send(Self.request("events.subscribe"))
    _ = client.object()
    #expect(client.object()?.event == "snapshot")
    // The socket's thread stands still in the handler.
    client.send(#"{"jsonrpc":"2.0","method":"talk.press"}"#)
    entered.wait()
    let limit = Int64(ControlLimits.waitingEvents)
    for _ in 0..<limit + 10 { running.server.publish(Self.note, at: .zero) }
    gate.signal()
    for number in 1...limit { #expect(client.object()?.seq == number) }
    running.server.publish(Self.note, at: .zero)
    #expect(client.object()?.seq == limit + 11)
  }

  @Test func `what was answered before the end is still delivered`() throws {
    let scratch = Scratch()
    let server = try ControlServer(path: scratch.socket, handler: FakeNode())
    let client = LineClient(scratch.socket)
    client.send(Self.request("stop"))
    #expect(client.object()?["result"] == .object([:]))
    server.close()
    #expect(client.isEnded())
  }

  @Test func `the client keeps events that come before its answer`() throws {
    let node = FakeNode { $0 == .talkPress(.normal) ? nil : FakeNode.ordinary($0) }
    let running = try Running(node)
    let client = try ControlClient(path: running.scratch.socket)
    _ = try client.call(.subscribe)
    try client.send(.talkPress)
    #expect(node.wait { $0.keptCount == 1 })
    running.server.publish(Self.note, at: .zero)
    #expect(try client.call(.status, as: StatusReport.self) == Sample.report())
    node.answerKept(.failure(ControlFailure(.busy, "ben speaks")))
    var names: [String] = []
    while names.count < 3, let incoming = try client.receive(.seconds(10)) {
      switch incoming {
      case .event(let json): names.append(JSONLine.decode(WatchEvent.self, json)!.content.name)
      case .answer(_, let result):
        #expect(throws: ControlFailure(.busy, "ben speaks")) { try result.get() }
        names.append("answer")
      }
    }
    #expect(names == ["snapshot", "error", "answer"])
    #expect(try client.receive(.zero) == nil)
  }
}
