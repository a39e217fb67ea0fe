import FoundationEssentials
import Glibc
import TalkCore
import TalkCrypto
import TalkMesh
import TalkNet
import TalkStore

/// Finds out the facts for `DoctorJudge`: looks, asks, sends and listens, and changes nothing.
///
/// It never takes the lock or the port of a node that runs, and never lets it capture: the
/// microphone is listened to by a stream of the doctor's own. While no node runs it takes the port
/// of one for a second, and calls the members as a node would, to see whether they answer.
final class DoctorGatherer {
  let state: String?
  let environment: [String: String]
  let wanted: String?
  /// Told what takes long.
  let progress: (String) -> Void
  var facts = DoctorFacts()
  /// Our channels, to know members by.
  var channels: [DoctorChannel] = []
  /// Who we are; nil before the first start.
  var identity: Identity?
  /// Where members were met lately.
  var remembered: [DoctorContact] = []
  var links: [Link] = []

  init(
    state: String?, environment: [String: String], wanted: String?,
    progress: @escaping (String) -> Void
  ) {
    self.state = state
    self.environment = environment
    self.wanted = wanted
    self.progress = progress
  }

  /// Everything, in some two seconds; in five where a daemon does not answer.
  func gather() -> DoctorFacts {
    facts.wanted = wanted
    links = Link.current()
    gatherProgram()
    gatherState()
    gatherNode()
    gatherLogin()
    facts.ports = PortTable.uses(of: UDPSocket.port...UDPSocket.port + 15)
    gatherNetwork()
    facts.bus = SystemBus.probe(environment)
    let browsing = facts.bus == .answering ? AvahiProbe() : nil
    let sound = SoundProbe(environment: environment, status: facts.node.status)
    progress("listening to the network, and for half a second to the microphone")
    sound?.start()
    gatherAir(browsing)
    facts.avahi.isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/sbin/avahi-daemon")
    if let browsing {
      browsing.finish()
      take(browsing)
    } else {
      facts.avahi.daemon = .absent
    }
    if let sound {
      sound.join()
      facts.sound = sound.result
    }
    return facts
  }

  // MARK: Program and files

  private func gatherProgram() {
    var system = utsname()
    let kernel = unsafe uname(&system) == 0 ? Self.text(of: system.release) : ""
    let release = SystemFile.text(of: "/etc/os-release").split(separator: "\n")
    let pretty = release.first { $0.hasPrefix("PRETTY_NAME=") }?.dropFirst(12)
    let name = pretty.map { $0.filter { $0 != "\"" } } ?? "an unknown system"
    facts.program.system = SafeText.escaped("\(name), Linux \(kernel)")
    facts.clock.now = Int(Date().timeIntervalSince1970)
    note(file: "/proc/self/exe", as: "this program")
  }

  private static func text<Field>(of field: Field) -> String {
    unsafe withUnsafeBytes(of: field) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Notes when a file was written, if it is the newest.
  private func note(file path: String, as name: String? = nil) {
    var info = stat()
    guard unsafe stat(path, &info) == 0, info.st_mtim.tv_sec > facts.clock.newestFile else {
      return
    }
    facts.clock.newestFile = info.st_mtim.tv_sec
    facts.clock.newestPath = name ?? path
  }

  private func gatherState() {
    guard let path = state ?? (try? StateDirectory.defaultPath(environment: environment)) else {
      return
    }
    facts.state.path = path
    gatherDisk(path)
    try? Crypto.start()
    let inspection = StateInspection(path: path, now: UInt64(max(0, facts.clock.now)))
    facts.state.isThere = inspection.isThere
    facts.state.faults = inspection.faults.map { fault in
      let line = fault.error.description
      let (what, cure) = Self.parts(of: line)
      let place = fault.place.isEmpty ? "" : " (\(fault.place))"
      return DoctorFacts.State.Fault(
        what: what + place, cure: cure ?? "restore it from a backup",
        loosePath: fault.looseMode, isCache: fault.isCache)
    }
    facts.state.lockHolder = inspection.lockHolder
    for name in ["identity", "boot", "peers"] { note(file: "\(path)/\(name)") }
    guard let identity = inspection.identity else { return }
    facts.state.nickname = identity.nickname
    facts.state.isElsewhere = identity.isElsewhere(than: MachineID.hash())
    self.identity = Identity(
      signingSeed: identity.signingSeed.copy(), agreementSecret: identity.agreementSecret.copy())
    let ownID = self.identity?.publicIdentity.peerID
    for channel in inspection.channels { take(channel, ownID: ownID) }
    remembered = inspection.peers.map {
      DoctorContact(channel: $0.channel, endpoint: $0.endpoint)
    }
  }

  private func take(_ channel: StoredChannel, ownID: PeerID?) {
    guard let creator = Fingerprint(channel.creator), let epoch = channel.epochs.last else {
      return
    }
    var roster = Roster(channel: channel.id, creator: creator, epoch: epoch.number)
    _ = roster.merge(channel.roster)
    let admins = roster.members.filter { $0.role == .admin }.map(\.id)
    let isMember = ownID.map { roster.isMember($0) } ?? false
    facts.channels.append(
      DoctorFacts.Channel(
        name: channel.name, members: roster.memberCount,
        admins: admins.map { String($0.description.prefix(8)) },
        isAdmin: ownID.map { admins.contains($0) } ?? false,
        isJoining: channel.joining && !isMember))
    var secret = epoch.secret.copy()
    defer { SecretBytes.wipe(&secret) }
    guard let keys = ChannelKeys(secret: secret) else { return }
    channels.append(DoctorChannel(id: channel.id, epoch: epoch.number, keys: keys))
  }

  /// Asks what the file system at the folder, or at its nearest parent that is there, still takes.
  private func gatherDisk(_ path: String) {
    var place = path
    while unsafe access(place, F_OK) != 0, place.contains("/"), place != "/" {
      let parent = place.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        .joined(separator: "/")
      place = parent.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : parent
    }
    facts.state.isWritable = unsafe access(place, W_OK) == 0
    var info = statvfs()
    guard unsafe statvfs(place, &info) == 0 else { return }
    facts.state.freeBytes = UInt64(info.f_bavail) * UInt64(info.f_frsize)
    facts.state.isReadOnly = info.f_flag & 1 != 0
    // File systems without a table of inodes give no number of them.
    facts.state.hasNoFilesLeft = info.f_files > 0 && info.f_favail == 0
  }

  // MARK: The node

  private func gatherNode() {
    let path: String
    do throws(StoreError) {
      path = try ControlPath.resolve(state: state, environment: environment)
    } catch {
      return
    }
    do throws(ControlError) {
      let client = try ControlClient(path: path)
      facts.node = .answers(
        try client.call(.status, as: StatusReport.self, patience: .seconds(2)))
    } catch {
      facts.node = Self.node(of: error)
    }
  }

  private static func node(of error: ControlError) -> DoctorFacts.Node {
    switch error {
    case .noNode: return .none
    case .timedOut, .lost: return .silent
    case .notUnderstood, .refused: return .other
    default:
      let parts = error.description.split(separator: "; ", maxSplits: 1)
      return .unusable(
        String(parts[0]), cure: parts.count > 1 ? String(parts[1]) : "look at that path")
    }
  }

  /// An error's line before and behind its last "; ".
  private static func parts(of line: String) -> (what: String, cure: String?) {
    let parts = line.split(separator: "; ", omittingEmptySubsequences: false)
    guard parts.count > 1, let cure = parts.last else { return (line, nil) }
    return (parts.dropLast().joined(separator: "; "), String(cure))
  }

  /// Who we are by the password file; our number where it has no name (getpwuid(3)).
  private static var userName: String {
    guard let entry = unsafe getpwuid(geteuid()) else { return "\(geteuid())" }
    return unsafe String(cString: entry.pointee.pw_name)
  }

  private func gatherLogin() {
    let files = FileManager.default
    func isThere(_ path: String) -> Bool { files.fileExists(atPath: path) }
    var login = DoctorFacts.Login()
    login.hasSystemd = isThere("/run/systemd/system")
    login.user = Self.userName
    login.lingers = isThere("/var/lib/systemd/linger/\(login.user)")
    login.hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    let home = environment["HOME"] ?? ""
    let folders = [environment["XDG_CONFIG_HOME"] ?? "\(home)/.config", "/etc"]
    login.isUnitEnabled = folders.contains { folder in
      ["default", "graphical-session"].contains {
        // A link to the unit, whose target need not be looked at.
        let path = "\(folder)/systemd/user/\($0).target.wants/talkaround.service"
        return (try? files.destinationOfSymbolicLink(atPath: path)) != nil || isThere(path)
      }
    }
    facts.login = login
  }
}
