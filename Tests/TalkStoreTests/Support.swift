import Foundation
import Glibc
import TalkCore

@testable import TalkStore

/// A folder of its own for a test, gone afterwards.
final class Scratch {
  let path: String

  init() {
    path = "/tmp/talkstore-\(UUID().uuidString)"
    try! FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  var state: String { "\(path)/state" }
  var identity: String { "\(state)/identity" }
}

/// Contents that tests save.
enum Sample {
  static let seed = [UInt8](60..<92)
  static let agreement = [UInt8](100..<132)
  static let channelID = ChannelID("00112233-4455-8677-8899-aabbccddeeff")!

  static func identity(nickname: String = "anna") -> StoredIdentity {
    StoredIdentity(
      signingSeed: SecretBytes(seed), agreementSecret: SecretBytes(agreement),
      nickname: nickname, machine: [UInt8](repeating: 9, count: 16))
  }

  static func channel(
    id: ChannelID = channelID, name: String = "crew", admits: Int = 3
  ) -> StoredChannel {
    var channel = StoredChannel(
      id: id, name: name, creator: [UInt8](1...20), creation: [UInt8](1...16),
      epochs: [.init(number: 7, secret: SecretBytes([UInt8](200..<232)))])
    channel.roster = (0..<admits).map { [UInt8](repeating: UInt8($0 & 255), count: 300) }
    channel.admitReserve = 1_024
    channel.turnReserve = 1 << 47
    channel.joining = true
    channel.inviter = PeerID(Bytes16(high: 5, low: 6))
    channel.order = 2
    channel.isCurrent = true
    return channel
  }
}

func fileBytes(_ path: String) -> [UInt8] {
  [UInt8](FileManager.default.contents(atPath: path) ?? Data())
}

func put(_ bytes: [UInt8], at path: String, mode: mode_t = 0o600) {
  unlink(path)
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
  _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
  fchmod(file, mode)
  close(file)
}

/// The error that `body` throws, if it does.
func thrown<Result>(_ body: () throws(StoreError) -> Result) -> StoreError? {
  do throws(StoreError) {
    _ = try body()
    return nil
  } catch {
    return error
  }
}

/// Runs `body` with an ordinary user's rights on files, also where the tests run as root: on Linux
/// setfsuid(2) is this thread's alone and takes root's way around modes with it.
func withoutPrivilege(_ body: () -> Void) {
  guard geteuid() == 0 else { return body() }
  typealias SetFSUser = @convention(c) (uid_t) -> Int32
  let setfsuid = unsafeBitCast(dlsym(nil, "setfsuid"), to: SetFSUser.self)
  _ = setfsuid(65_534)
  defer { _ = setfsuid(0) }
  body()
}
