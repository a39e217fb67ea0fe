import Glibc

/// Why sound cannot come in or go out; each says who caused it and the cure.
package enum AudioFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// No sound server answers, with libpulse's reason. The person starts it; we go on trying.
  case noServer(reason: String)
  /// The server has no source at all. The person plugs in a microphone.
  case noMicrophone
  /// The server offers a sink's monitor as the microphone: we would send what others say.
  case monitorRefused(device: String)
  /// The server has no sink at all. The person plugs in a loudspeaker or headset.
  case noSpeaker
  /// The server refused or ended a stream, with libpulse's reason.
  case streamRefused(reason: String)
  /// libpulse or the kernel gave no memory or file descriptor, with what was asked for.
  case noResources(what: String)
  /// A sound file could not be opened or read, with libsndfile's reason.
  case unreadableFile(path: String, reason: String)
  /// A sound file holds no sample. The person names another, or records it again.
  case emptyFile(path: String)
  /// A sound file ends before its own length says. The person copies or records it again.
  case cutShort(path: String, bytes: Int, of: Int)
  /// A sound file could not be made or written, with libsndfile's reason.
  case unwritableFile(path: String, reason: String)

  /// What is wrong, and the cure, in one line.
  package var description: String {
    switch self {
    case .noServer(let reason):
      "no sound server at \(Self.serverPlace) (\(reason)): start PulseAudio or PipeWire in your "
        + "session (systemctl --user start pulseaudio), or set PULSE_SERVER"
    case .noMicrophone:
      "no microphone: plug one in, or look for it with: pactl list short sources"
    case .monitorRefused(let device):
      "\(device) is what the loudspeaker plays, not a microphone: plug one in, or choose one "
        + "with: pactl set-default-source NAME"
    case .noSpeaker:
      "no loudspeaker: plug one in, or look for it with: pactl list short sinks"
    case .streamRefused(let reason):
      "the sound server refused (\(reason)): see its log, or restart it"
    case .noResources(let what):
      "the system gave no \(what): close programs, or raise the limit (ulimit -n)"
    case .unreadableFile(let path, let reason):
      "cannot read sound from \(path) (\(reason)): convert it with: "
        + "sox in.wav -r 48000 -c 1 out.wav"
    case .emptyFile(let path):
      "there is no sound in \(path): record it again, or name another file"
    case .cutShort(let path, let bytes, let whole):
      "\(path) is cut short (\(bytes) of \(whole) bytes): copy or record it again"
    case .unwritableFile(let path, let reason):
      "cannot write sound to \(path) (\(reason)): check the folder and the space in it"
    }
  }

  /// Where libpulse looks for the server: what PULSE_SERVER says, else a socket in the session's
  /// folder. As a system service there is no such folder, and this says so.
  private static var serverPlace: String {
    if let server = unsafe getenv("PULSE_SERVER") { return unsafe String(cString: server) }
    if let folder = unsafe getenv("PULSE_RUNTIME_PATH") {
      return unsafe String(cString: folder) + "/native"
    }
    guard let folder = unsafe getenv("XDG_RUNTIME_DIR") else {
      return "any place known, as XDG_RUNTIME_DIR is not set outside a person's session"
    }
    return unsafe String(cString: folder) + "/pulse/native"
  }
}
