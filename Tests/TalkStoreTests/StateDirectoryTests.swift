import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkStore

@Suite struct StateDirectoryTests {
  @Test func `what is saved comes back after a restart`() throws {
    let scratch = Scratch()
    do {
      let directory = try StateDirectory(path: scratch.state)
      #expect(try directory.loadIdentity() == nil)
      #expect(try directory.countBoot() == 1)
      try directory.write(.identity(Sample.identity()))
      try directory.write(.channel(Sample.channel()))
    }
    let directory = try StateDirectory(path: scratch.state)
    #expect(try directory.loadIdentity() == Sample.identity())
    #expect(try directory.loadChannels() == [Sample.channel()])
    #expect(try directory.countBoot() == 2)
    try directory.remove(Sample.channelID)
    try directory.remove(Sample.channelID)
    #expect(try directory.loadChannels().isEmpty)
  }

  @Test func `folders are 0700 and files 0600, whatever the umask`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: "\(scratch.path)/a/b/state/")
    _ = try directory.countBoot()
    try directory.write(.channel(Sample.channel()))
    #expect(directory.path == "\(scratch.path)/a/b/state")
    let folders = ["a", "a/b", "a/b/state", "a/b/state/channels"]
    let files = ["lock", "boot", "channels/\(Sample.channelID)"].map { "a/b/state/\($0)" }
    for (names, mode) in [(folders, 0o700), (files, 0o600)] {
      for name in names {
        var info = stat()
        #expect(lstat("\(scratch.path)/\(name)", &info) == 0)
        #expect(Int(info.st_mode & 0o7777) == mode, "\(name)")
      }
    }
  }

  @Test func `a second copy is refused and told of the first`() throws {
    let scratch = Scratch()
    let first = try StateDirectory(path: scratch.state)
    let error = thrown { () throws(StoreError) in try StateDirectory(path: scratch.state) }
    #expect(error == .inUse("\(scratch.state)/lock", process: getpid()))
    #expect(error?.description.contains("process \(getpid())") == true)
    let elsewhere = try StateDirectory(path: "\(scratch.path)/other")
    #expect(elsewhere.path != first.path)
  }

  @Test func `the default folder follows XDG_DATA_HOME, then HOME`() throws {
    #expect(
      try StateDirectory.defaultPath(environment: ["XDG_DATA_HOME": "/d", "HOME": "/h"])
        == "/d/talkaround")
    #expect(
      try StateDirectory.defaultPath(environment: ["XDG_DATA_HOME": "d", "HOME": "/h"])
        == "/h/.local/share/talkaround")
    #expect(
      thrown { () throws(StoreError) in try StateDirectory.defaultPath(environment: [:]) }
        == .noHome)
  }

  struct BadFolder: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (String) -> Void
    let error: @Sendable (String) -> StoreError

    static let all = [
      BadFolder(
        testDescription: "loose mode",
        make: {
          mkdir($0, 0o700); chmod($0, 0o750)
        },
        error: { .looseMode($0, mode: 0o750) }),
      BadFolder(
        testDescription: "symbolic link", make: { symlink("/tmp", $0) },
        error: { .symbolicLink($0) }),
      BadFolder(
        testDescription: "file in its place", make: { put([1], at: $0) },
        error: { .notADirectory($0) }),
      BadFolder(
        testDescription: "file in its parent's place",
        make: { path in
          let parent = String(path.dropLast("/state".count))
          rmdir(parent)
          put([1], at: parent)
        },
        error: { .notADirectory($0) }),
      BadFolder(
        testDescription: "lock is a symbolic link",
        make: {
          mkdir($0, 0o700); symlink("/etc/hostname", "\($0)/lock")
        },
        error: { .symbolicLink("\($0)/lock") }),
      BadFolder(
        testDescription: "channels is a file",
        make: {
          mkdir($0, 0o700); put([1], at: "\($0)/channels")
        },
        error: { .notADirectory("\($0)/channels") }),
    ]
  }

  @Test(arguments: BadFolder.all)
  func `a bad folder is refused by name`(_ bad: BadFolder) {
    let scratch = Scratch()
    bad.make(scratch.state)
    let error = thrown { () throws(StoreError) in try StateDirectory(path: scratch.state) }
    #expect(error == bad.error(scratch.state))
  }

  @Test func `a folder of another user is refused`() {
    let scratch = Scratch()
    mkdir(scratch.state, 0o700)
    if geteuid() == 0 {
      chown(scratch.state, 65_534, 65_534)
      let error = thrown { () throws(StoreError) in try StateDirectory(path: scratch.state) }
      #expect(error == .foreignOwner(scratch.state, user: 65_534))
    } else {
      let error = thrown { () throws(StoreError) in try StateDirectory(path: "/root") }
      #expect(error == .noPermission("/root"))
    }
  }

  @Test func `what the system denies is named, not taken for missing`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.identity(Sample.identity()))
    // As root the folder is closed to the thread's borrowed user; as a user the file is.
    if geteuid() != 0 { chmod(scratch.identity, 0) }
    withoutPrivilege {
      let error = thrown { () throws(StoreError) in try directory.loadIdentity() }
      #expect(error == .noPermission(scratch.identity))
    }
  }

  @Test func `a lost identity is an error, never a new beginning`() throws {
    let scratch = Scratch()
    let directory = try StateDirectory(path: scratch.state)
    let boot = "\(scratch.state)/boot"
    try directory.write(.identity(Sample.identity()))
    let lost = StoreError.missing(scratch.identity)
    unlink(scratch.identity)
    try directory.write(.boot(StoredBoot(count: 2)))
    #expect(thrown { () throws(StoreError) in try directory.loadIdentity() } == lost)
    #expect(thrown { () throws(StoreError) in try directory.countBoot() } == lost)
    unlink(boot)
    try directory.write(.channel(Sample.channel()))
    #expect(thrown { () throws(StoreError) in try directory.loadIdentity() } == lost)
  }

  @Test func `a first start that was cut short before the identity begins anew`() throws {
    let scratch = Scratch()
    for _ in 0..<3 {
      let directory = try StateDirectory(path: scratch.state)
      #expect(try directory.loadIdentity() == nil)
      #expect(try directory.countBoot() == 1)
    }
    let directory = try StateDirectory(path: scratch.state)
    try directory.write(.identity(Sample.identity()))
    #expect(try directory.countBoot() == 2)
  }
}
