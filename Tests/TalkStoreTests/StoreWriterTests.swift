import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkStore

/// What a writer's completions said, for the test's thread.
final class Completions: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [StoreWriter.Completion] = []
  let first = DispatchSemaphore(value: 0)
  let goOn = DispatchSemaphore(value: 0)

  func add(_ completion: StoreWriter.Completion) { lock.withLock { list.append(completion) } }
  var all: [StoreWriter.Completion] { lock.withLock { list } }
}

@Suite struct StoreWriterTests {
  @Test func `what is saved again before its turn is written once, with the newest content`() throws
  {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    let completions = Completions()
    let writer = StoreWriter(directory: directory) { completion in
      completions.add(completion)
      if completion.ticket == 1 {
        completions.first.signal()
        completions.goOn.wait()
      }
    }
    #expect(writer.save(.identity(Sample.identity())) == 1)
    completions.first.wait()
    for name in ["a", "b", "c"] { writer.save(.channel(Sample.channel(name: name))) }
    #expect(writer.save(.boot(StoredBoot(count: 5))) == 5)
    completions.goOn.signal()
    writer.flush()
    let channel = StoreFile.channel(Sample.channelID)
    #expect(completions.all.map(\.file) == [.identity, channel, .boot])
    #expect(completions.all.map(\.ticket) == [1, 4, 5])
    #expect(completions.all.allSatisfy { $0.error == nil })
    #expect(try directory.loadChannels().map(\.name) == ["c"])
    writer.remove(Sample.channelID)
    writer.close()
    #expect(try directory.loadChannels().isEmpty)
    writer.close()
  }

  @Test func `a failed write is reported, and the next one may succeed`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    let completions = Completions()
    let writer = StoreWriter(directory: directory) { completions.add($0) }
    mkdir(scratch.identity, 0o700)
    writer.save(.identity(Sample.identity()))
    writer.flush()
    #expect(completions.all.map(\.error) == [.notAFile(scratch.identity)])
    rmdir(scratch.identity)
    writer.save(.identity(Sample.identity()))
    writer.close()
    #expect(completions.all.map(\.error) == [.notAFile(scratch.identity), nil])
    #expect(try directory.loadIdentity() == Sample.identity())
  }
}
