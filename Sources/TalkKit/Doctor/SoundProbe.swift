import Glibc
import TalkAudio
import TalkCore
import TalkNet

/// Asks the sound server and listens to the microphone for a moment, on a thread of its own.
///
/// Drive it so: `start`, do something else, `join`, then read `result`.
final class SoundProbe: @unchecked Sendable {
  private let environment: [String: String]
  /// What was found; the thread's until `join`.
  private(set) var result = DoctorFacts.Sound()
  private var thread: NodeThread?

  /// A probe of what the node uses, or would.
  init?(environment: [String: String], status: StatusReport?) {
    self.environment = environment
    if let audio = status?.node.audio {
      result.capture = audio.capture
      result.playback = audio.playback
    }
  }

  func start() {
    do throws(NetError) {
      thread = try NodeThread(name: "sound-probe") { [self] in self.probe() }
    } catch {
      probe()
    }
  }

  func join() {
    thread?.join()
    thread = nil
  }

  private func probe() {
    let (server, path) = Self.place(environment)
    result.server = server
    let isWanted = [result.capture, result.playback].contains {
      $0 == "pulse" || $0.hasPrefix("pulse:")
    }
    guard isWanted else { return }
    let began = BootClock.now()
    do throws(AudioFault) {
      result.devices = try AudioDevices.list()
    } catch {
      let isSlow = BootClock.now() - began > .seconds(2)
      result.connection =
        server.isEmpty ? .noRuntimeFolder : Self.connection(path, isSlow: isSlow, error)
      return
    }
    listen()
  }

  /// Listens where there is something to hear: what is muted needs no look at its signal.
  private func listen() {
    let sources = result.devices.filter { $0.direction == .source }
    let chosen =
      result.capture.hasPrefix("pulse:")
      ? sources.first { $0.name == result.capture.dropFirst(6) } : sources.first(where: \.isDefault)
    guard result.capture.hasPrefix("pulse"), let chosen, !chosen.isMonitor, !chosen.isMuted,
      chosen.volume > 0
    else { return }
    do throws(AudioFault) {
      result.signal = .level(try AudioLevel.measure(source: chosen.name))
    } catch {
      result.signal = .failed(error.description)
    }
  }

  /// Where libpulse looks for the server: its name for people, and the socket's path where it is
  /// one (pulseaudio(1): PULSE_SERVER, PULSE_RUNTIME_PATH, XDG_RUNTIME_DIR).
  static func place(_ environment: [String: String]) -> (name: String, path: String?) {
    func value(_ name: String) -> String? {
      environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
    if let server = value("PULSE_SERVER") {
      let path = server.hasPrefix("unix:") ? String(server.dropFirst(5)) : server
      return path.hasPrefix("/") ? (path, path) : (server, nil)
    }
    if let folder = value("PULSE_RUNTIME_PATH") { return ("\(folder)/native", "\(folder)/native") }
    guard let folder = value("XDG_RUNTIME_DIR") else { return ("", nil) }
    return ("\(folder)/pulse/native", "\(folder)/pulse/native")
  }

  /// Why there is no server, by what its socket says.
  static func connection(
    _ path: String?, isSlow: Bool, _ fault: AudioFault
  ) -> DoctorFacts.Sound.Connection {
    var reason = fault.description
    if case .noServer(let text) = fault { reason = text }
    guard let path else { return isSlow ? .silent : .failed(reason) }
    guard let address = try? UnixAddress(path), let socket = try? UnixAddress.makeSocket(path: path)
    else { return .failed(reason) }
    defer { close(socket) }
    UnixAddress.makeNonBlocking(socket)
    guard unsafe address.withPointer({ unsafe connect(socket, $0, $1) }) != 0 else {
      return isSlow ? .silent : .failed(reason)
    }
    switch errno {
    case ENOENT, ENOTDIR: return .noSocket
    case ECONNREFUSED: return .refused
    case EACCES, EPERM: return .denied
    default: return isSlow ? .silent : .failed(reason)
    }
  }
}
