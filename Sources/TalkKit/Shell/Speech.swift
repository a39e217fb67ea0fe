import TalkFloor
import TalkNet
import TalkWire
import TalkAudio
import TalkCore
import TalkNode

/// A sound file that is being spoken for a client: it holds the key until the file has ended, and
/// the answer waits for the listeners' reports.
final class Speech {
  let device: WaveFileCapture
  let client: ControlClientID
  let channel: ChannelID
  let source: PressSource
  let reply: @Sendable (ControlReply) -> Void
  /// True once the floor is ours and the file runs.
  var isSpeaking = false
  /// True once the file has ended and the key is up.
  var isOver = false

  init(
    device: WaveFileCapture, client: ControlClientID, channel: ChannelID,
    reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    self.device = device
    self.client = client
    self.channel = channel
    self.reply = reply
    source = PressSource(ownedID: 1 << 63 | client.number)
  }
}

/// Speaking a file.
extension Shell {
  /// Presses for a file, on the current channel when none is named; it runs from the grant on.
  func speak(
    _ path: String, _ floorClass: FloorClass = .normal, for client: ControlClientID,
    on wanted: ChannelID? = nil,
    _ reply: @escaping @Sendable (ControlReply) -> Void
  ) {
    guard speech == nil else {
      return reply(
        .failure(ControlFailure(.busy, "another file is being spoken; wait for its end")))
    }
    guard let channel = wanted ?? node.current else { return reply(.failure(.noChannel)) }
    switch node.floor(of: channel)?.state {
    case .ours, .requested, .queued:
      return reply(
        .failure(ControlFailure(.busy, "the key is down already; 'talkaround talk release'")))
    default: break
    }
    let device: WaveFileCapture
    do {
      device = try WaveFileCapture(path: path)
      try loop.add(fd: device.wake.descriptor) { [unowned self] in self.pumpCapture(device) }
      try loop.add(fd: device.events.wake.descriptor) { [unowned self] in self.followSpeech() }
    } catch {
      return reply(.failure(ControlFailure(.badFile, "\(error)")))
    }
    let speech = Speech(device: device, client: client, channel: channel, reply: reply)
    self.speech = speech
    let had = node.hasMicrophone
    node.hasMicrophone = true
    input { step in
      do throws(TalkRefusal) {
        try self.node.press(
          speech.source, channel: channel, floorClass: floorClass, step)
      } catch {
        self.endSpeech(.failure(self.failure(of: error)), step)
      }
    }
    node.hasMicrophone = had
  }

  /// Runs the file once the floor is ours.
  func startIfGranted(_ speech: Speech) {
    guard !speech.isSpeaking, node.isTransmitting else { return }
    speech.isSpeaking = true
    speech.device.start()
  }

  private func followSpeech() {
    guard let speech else { return }
    while let event = speech.device.events.next() {
      guard event == .ended else { continue }
      pumpCapture(speech.device)
      speech.isOver = true
      input { self.node.release(speech.source, $0) }
    }
  }

  /// The listeners of the spoken file reported.
  func speechHeard(_ event: HeardEvent, _ step: Step) {
    guard let speech, speech.channel.description == event.channel else { return }
    endSpeech(.success(.heard(event)), step)
  }

  /// The spoken file did not get, or lost, the floor.
  func speechFailed(_ channel: ChannelID, _ reason: Reason, _ message: String) {
    guard let speech, speech.channel == channel else { return }
    endSpeech(.failure(ControlFailure(reason, message)), step)
  }

  /// Ends the speech with its answer.
  func endSpeech(_ reply: ControlReply, _ step: Step) {
    guard let speech else { return }
    self.speech = nil
    speech.device.stop()
    loop.remove(fd: speech.device.wake.descriptor)
    loop.remove(fd: speech.device.events.wake.descriptor)
    node.release(speech.source, step)
    speech.reply(reply)
  }
}
