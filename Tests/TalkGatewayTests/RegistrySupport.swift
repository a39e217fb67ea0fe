import Foundation
import Glibc
import TalkCore
import TalkCrypto

@testable import TalkGateway

/// A folder of its own for a test, gone afterwards.
final class RegistryFolder {
  let path: String

  init() {
    path = "/tmp/talkgateway-\(UUID().uuidString)"
    try! FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var file: String { "\(path)/phones.db" }

  func open() throws(RegistryError) -> SQLiteRegistry { try SQLiteRegistry(path: file) }

  /// A registry with the channel of `Sample` in it.
  func openWithChannel() throws(RegistryError) -> SQLiteRegistry {
    let registry = try open()
    try registry.setChannel(Sample.channelRow)
    return registry
  }

  func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) {
    unlink(path)
    let file = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    fchmod(file, mode)
    close(file)
  }

  func bytes(of path: String) -> [UInt8] {
    [UInt8](FileManager.default.contents(atPath: path) ?? Data())
  }
}

/// What tests put into a registry.
enum Sample {
  static let channel = ChannelID("00112233-4455-8677-8899-aabbccddeeff")!
  static let channelRow = PhoneChannel(
    id: channel, uuid: Bytes16(high: 7, low: 7), name: "crew", showsNames: true,
    level: .timeSensitive)
  static let gateway = PeerID(Bytes16(high: 1, low: 1))
  static let otherGateway = PeerID(Bytes16(high: 2, low: 2))
  static let burst = BurstID(Bytes16(high: 3, low: 3))
  /// An hour of 2026, in milliseconds since 1970.
  static let now: UInt64 = 1_790_000_000_000

  static func device(_ number: Int) -> DeviceID {
    DeviceID(Bytes16(high: 0xd0, low: UInt64(number)))
  }

  static func ticket(_ number: Int) -> TicketHash {
    TicketHash(of: [UInt8](repeating: UInt8(number & 255), count: 30) + [UInt8(number >> 8), 1])
  }

  static func token(
    _ number: Int = 1, kind: PhoneToken.Kind = .pushToTalk,
    environment: Push.Environment = .production, bytes: [UInt8] = [UInt8](0..<32),
    registered: UInt64 = now
  ) -> PhoneToken {
    PhoneToken(
      device: device(number), channel: channel, kind: kind, environment: environment,
      bytes: bytes, registered: registered)
  }

  static func claim(
    _ kind: Push.Kind = .speak, burst: BurstID = burst, gateway: PeerID = gateway
  ) -> PushClaim {
    PushClaim(kind: kind, burst: burst, channel: channel, gateway: gateway)
  }
}

/// The error that `body` throws, if it does.
func registryError<Result>(_ body: () throws(RegistryError) -> Result) -> RegistryError? {
  do throws(RegistryError) {
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
