import Foundation
import Glibc
import TalkAudio
import TalkCore
import TalkNet
import TalkStore
import Testing

@testable import TalkKit

/// What the doctor reads of the world, each from texts or a folder that the test makes.
@Suite struct DoctorGathererTests {
  @Test func `sockets that take unicast are told from those of groups`() {
    let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid\n"
    let udp = """
        1: 00000000:A2F5 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000 0 11 2 0 0
        2: 1129FFEF:A2F5 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000 0 12 2 0 0
        3: FFFFFFFF:A2F5 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000 0 13 2 0 0
        4: 0100007F:A2F6 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000 0 14 2 0 0
        x
      """
    let udp6 = """
        1: 00000000000000000000000000000000:A2F7 0:0 07 0:0 00:0 0  1000 0 21 2 0 0
        2: 000002FF000000000000000017410000:A2F7 0:0 07 0:0 00:0 0  1000 0 22 2 0 0
      """
    #expect(
      PortTable.entries(in: head + udp) == [
        .init(port: 41_717, inode: "11"), .init(port: 41_718, inode: "14"),
      ])
    #expect(PortTable.entries(in: head + udp6) == [.init(port: 41_719, inode: "21")])
    #expect(PortTable.entries(in: "").isEmpty)
  }

  @Test func `the ports of nodes are known by their marks`() {
    let table = """
      Num       RefCount Protocol Flags    Type St Inode Path
      0: 2 0 0 0002 01 31 @talkaround-udp-41717
      0: 2 0 0 0002 01 32 @talkaround-udp-99999
      0: 3 0 0 0001 03 33 /run/dbus/system_bus_socket
      0: 3 0 0 0001 03 34
      """
    #expect(PortTable.marks(in: table) == [41_717])
  }

  @Test func `loopback is among the interfaces, and leads to nobody`() throws {
    let loopback = try #require(Interface.all().first { $0.name == "lo" })
    #expect(loopback.kind == .loopback && !loopback.isWireless && loopback.index > 0)
  }

  @Test func `the owner of a port is found`() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0
      }
    }
    try #require(bound)
    let port = UInt16(bigEndian: address.sin_port)
    let uses = PortTable.uses(of: port...port)
    #expect(uses.map(\.port) == [port] && uses.first?.process == getpid())
    #expect(uses.first?.program.isEmpty == false)
  }

  @Test func `the bus is where its variable says`() {
    let name = "DBUS_SYSTEM_BUS_ADDRESS"
    #expect(SystemBus.path([:]) == "/run/dbus/system_bus_socket")
    #expect(SystemBus.path([name: "unix:path=/a/b,guid=1"]) == "/a/b")
    #expect(SystemBus.path([name: "tcp:host=x;unix:guid=1,path=/c"]) == "/c")
    #expect(SystemBus.probe([name: "unix:path=/nonexistent/bus"]) == .absent("/nonexistent/bus"))
  }

  @Test func `a bus that takes connections and says nothing is silent`() throws {
    let scratch = Scratch()
    let path = "\(scratch.path)/bus"
    let listener = try UnixAddress.makeSocket(path: path)
    defer { close(listener) }
    let address = try UnixAddress(path)
    try #require(address.withPointer { bind(listener, $0, $1) } == 0 && listen(listener, 4) == 0)
    #expect(SystemBus.probe(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)"]) == .silent(path))
  }

  @Test func `the sound server is where libpulse looks`() {
    func place(_ environment: [String: String]) -> [String?] {
      let place = SoundProbe.place(environment)
      return [place.name, place.path]
    }
    let runtime = ["XDG_RUNTIME_DIR": "/run/user/1"]
    #expect(place(runtime) == ["/run/user/1/pulse/native", "/run/user/1/pulse/native"])
    #expect(place(["PULSE_SERVER": "unix:/s"].merging(runtime) { $1 }) == ["/s", "/s"])
    #expect(place(["PULSE_SERVER": "tcp:host"]) == ["tcp:host", nil])
    #expect(place(["PULSE_RUNTIME_PATH": "/p"]) == ["/p/native", "/p/native"])
    #expect(place(["XDG_RUNTIME_DIR": ""]) == ["", nil])
  }

  @Test func `why there is no sound server is told by its socket`() throws {
    let scratch = Scratch()
    let path = "\(scratch.path)/native"
    let fault = AudioFault.noServer(reason: "Connection refused")
    #expect(SoundProbe.connection(path, isSlow: false, fault) == .noSocket)
    let listener = try UnixAddress.makeSocket(path: path)
    let address = try UnixAddress(path)
    try #require(address.withPointer { bind(listener, $0, $1) } == 0)
    #expect(SoundProbe.connection(path, isSlow: false, fault) == .refused)
    try #require(listen(listener, 1) == 0)
    #expect(SoundProbe.connection(path, isSlow: true, fault) == .silent)
    #expect(SoundProbe.connection(path, isSlow: false, fault) == .failed("Connection refused"))
    close(listener)
    #expect(SoundProbe.connection(path, isSlow: true, fault) == .refused)
  }

  @Test func `levels are reckoned from samples`() {
    #expect(AudioLevel([]).isDigitalSilence && AudioLevel([0, 0]).decibels == -200)
    let full = AudioLevel([.min, .max])
    #expect(full.peak == 32_768 && abs(full.decibels) < 0.001 && !full.isDigitalSilence)
  }

  // MARK: State

  @Test func `a state directory is looked at without changing anything in it`() throws {
    let scratch = Scratch()
    let path = "\(scratch.path)/state"
    #expect(!StateInspection(path: path, now: 0).isThere)
    #expect(!FileManager.default.fileExists(atPath: path))
    var directory: StateDirectory? = try StateDirectory(path: path)
    _ = try directory?.countBoot()
    let secret = SecretBytes([UInt8](repeating: 7, count: 32))
    try directory?.write(
      .identity(
        StoredIdentity(
          signingSeed: secret, agreementSecret: secret, nickname: "anna",
          machine: MachineID.hash())))
    let whole = StateInspection(path: path + "/", now: 0)
    #expect(whole.isThere && whole.faults == [] && whole.identity?.nickname == "anna")
    #expect(whole.lockHolder == getpid())
    directory = nil
    #expect(StateInspection(path: path, now: 0).lockHolder == nil)
    truncate("\(path)/identity", 50)
    chmod(path, 0o750)
    _ = FileManager.default.createFile(atPath: "\(path)/channels/nonsense", contents: Data())
    let before = try names(path)
    let faults = StateInspection(path: path, now: 0).faults
    #expect(faults.map(\.path) == [path, "\(path)/identity", "\(path)/channels/nonsense"])
    #expect(faults.map(\.place) == ["", "ends at byte 50", ""])
    #expect(faults.map(\.looseMode) == [path, nil, nil])
    #expect(try names(path) == before && mode(path) == 0o750)
  }

  private func names(_ path: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
  }

  // MARK: Mending

  @Test func `modes are mended, and a link is not followed`() throws {
    let scratch = Scratch()
    let file = "\(scratch.path)/identity"
    _ = FileManager.default.createFile(atPath: file, contents: Data())
    chmod(file, 0o664)
    symlink(file, "\(scratch.path)/link")
    #expect(DoctorMender.closeToOthers("\(scratch.path)/link") != nil && mode(file) == 0o664)
    #expect(DoctorMender.closeToOthers(file) == nil && mode(file) == 0o600)
    #expect(DoctorMender.closeToOthers("\(scratch.path)/absent") != nil)
  }

  @Test func `only what is safe and ill is mended`() {
    var mender = DoctorMender()
    #expect(mender.jobs(.healthy).isEmpty && !mender.mend(.healthy) && mender.fixes == [])
    var facts = DoctorFacts.withoutNode
    facts.avahi.daemon = .silent
    facts.sound.devices[0].isMuted = true
    facts.sound.devices[2].volume = 0
    facts.air.links = [.init(name: "wlan0")]
    facts.state.faults = [
      .init(what: "x", cure: "y", loosePath: "/state"), .init(what: "/state/boot", cure: "y"),
    ]
    let jobs = mender.jobs(facts)
    #expect(jobs.map(\.check) == [.state, .avahi, .microphoneVolume, .loudspeakerVolume])
    #expect(
      jobs.map(\.job) == [
        .closeToOthers(path: "/state"), .unit(verb: "restart", name: "avahi-daemon"),
        .audio(.unmute(.source, name: "mic")),
        .audio(.volume(.sink, name: "speaker", percent: 80)),
      ])
  }

  @Test func `a microphone is chosen for a person only where there is one`() {
    var mender = DoctorMender()
    var facts = DoctorFacts.withoutNode
    facts.sound.devices[0].isDefault = false
    facts.sound.devices[1].isDefault = true
    #expect(mender.jobs(facts).map(\.job) == [.audio(.defaultSource(name: "mic"))])
    facts.sound.devices.append(DoctorFacts.device(.source, "other", isDefault: false))
    #expect(mender.jobs(facts).isEmpty)
  }
}
