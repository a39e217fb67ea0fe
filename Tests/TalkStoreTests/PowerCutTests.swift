import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkStore

@Suite struct PowerCutTests {
  @Test func `a crash before the rename leaves the old file whole`() throws {
    let scratch = Scratch()
    do {
      let directory = try StateDirectory(path: scratch.state)
      _ = try directory.countBoot()
      try directory.write(.identity(Sample.identity(nickname: "old")))
      _ = try directory.prepare(.identity(Sample.identity(nickname: "new")))
      _ = try directory.prepare(.channel(Sample.channel()))
    }
    let leftovers = [
      "\(scratch.state)/.new-identity", "\(scratch.state)/channels/.new-\(Sample.channelID)",
    ]
    #expect(leftovers.allSatisfy { access($0, F_OK) == 0 })
    let directory = try StateDirectory(path: scratch.state)
    #expect(try directory.loadIdentity()?.nickname == "old")
    #expect(try directory.loadChannels().isEmpty)
    #expect(leftovers.allSatisfy { access($0, F_OK) != 0 })
  }

  @Test func `a half-written temporary file is of no account`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.identity(Sample.identity(nickname: "old")))
    put([1, 2, 3], at: "\(scratch.state)/.new-identity", mode: 0o644)
    try directory.write(.identity(Sample.identity(nickname: "new")))
    #expect(try directory.loadIdentity()?.nickname == "new")
    var info = stat()
    #expect(stat(scratch.identity, &info) == 0)
    #expect(info.st_mode & 0o777 == 0o600)
  }

  @Test(.enabled(if: geteuid() == 0, "mounting a small disk needs root"))
  func `a full disk leaves the old file whole, and room makes it work again`() throws {
    let scratch = Scratch()
    let disk = "\(scratch.path)/disk"
    mkdir(disk, 0o700)
    try #require(mount("talkaround-test", disk, "tmpfs", 0, "size=64k,mode=700") == 0)
    defer { umount2(disk, Int32(MNT_DETACH)) }
    let directory = try StateDirectory(path: "\(disk)/state")
    try directory.write(.channel(Sample.channel(name: "old")))
    let filler = "\(disk)/filler"
    put([UInt8](repeating: 1, count: 65_536), at: filler)
    let path = "\(disk)/state/channels/\(Sample.channelID)"
    let error = thrown { () throws(StoreError) in
      try directory.write(.channel(Sample.channel(name: "new", admits: 40)))
    }
    #expect(error == .diskFull(path))
    #expect(try directory.loadChannels().map(\.name) == ["old"])
    #expect(access("\(disk)/state/channels/.new-\(Sample.channelID)", F_OK) != 0)
    unlink(filler)
    try directory.write(.channel(Sample.channel(name: "new", admits: 40)))
    #expect(try directory.loadChannels().map(\.name) == ["new"])
  }
}
