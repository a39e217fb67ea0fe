import CLinux
import Glibc
import TalkAudio
import TalkCore
import TalkFloor
import TalkNode

/// The parrot's answers: spoken as a file is, through the ordinary press.
extension Shell {
  /// Tells the parrot of a burst.
  func tellParrot(_ event: NodeEvent) {
    switch event {
    case .burstBegan(let channel, let token):
      guard let limit = node.floor(of: channel)?.limit else { return }
      parrot?.began(token, on: channel, limit: limit, at: step.now)
    case .burstEnded(_, let token, _, _): parrot?.ended(token, at: step.now)
    default: break
    }
  }

  /// Speaks what was heard, once the loudspeaker has come to rest and the floor is free.
  func answerAsParrot() {
    guard let channel = parrot?.waitingChannel, speech == nil, !node.wantsPlayback,
      !sound.isPlaying, node.floor(of: channel)?.state == .idle
    else { return }
    switch parrot?.answer() {
    case .speak(let samples, let channel): repeatAloud(samples, on: channel)
    case .leave: Log.line("parrot: that was another parrot; not repeated")
    case nil: break
    }
  }

  private func repeatAloud(_ samples: [Int16], on channel: ChannelID) {
    let seconds = (Double(samples.count) / 4_800).rounded() / 10
    let file = unsafe talk_memory_file("talkaround-parrot")
    guard file >= 0 else { return Log.line("parrot: no memory for what it heard; not repeated") }
    // The file is open for reading when `speak` returns, and outlives this descriptor.
    defer { close(file) }
    let path = "/proc/self/fd/\(file)"
    do throws(AudioFault) {
      try SoundFileWriter(path: path).writeAll(samples, path: path)
    } catch {
      return Log.line("parrot: \(error)")
    }
    // 0 is no connection's number, and the latch is another source.
    speak(path, for: ControlClientID(number: 0), on: channel) { reply in
      switch reply {
      case .success(.heard(let event)):
        let all = event.heard.count + event.missed.count
        Log.line("parrot: repeated \(seconds) s, heard by \(event.heard.count) of \(all)")
      case .success: break
      case .failure(let failure): Log.line("parrot: not repeated: \(failure.message)")
      }
    }
  }
}
