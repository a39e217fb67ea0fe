import TalkCore

/// What happened to a device.
package enum AudioEvent: Hashable, Sendable {
  /// It can be used, and this is its name; comes again when the server moves it to another.
  case ready(device: String)
  /// It cannot be used until `ready` comes.
  case lost(AudioFault)
  /// A sound file has come to its end.
  case ended
}

/// The events of one device on their way from its thread to the loop, and its present state.
///
/// The queue has a limit; what it refuses is not missed, for `name` and `fault` are always current.
package final class AudioEvents: Sendable {
  /// The most events that wait.
  package static let limit = 64

  private let lock = Lock()
  private nonisolated(unsafe) var queue = BoundedQueue<AudioEvent>(limit: limit)
  private nonisolated(unsafe) var state: (name: String, fault: AudioFault?)
  /// Readable when an event waits.
  package let wake: Wake

  init(name: String, fault: AudioFault?) throws(AudioFault) {
    wake = try Wake()
    unsafe state = (name, fault)
  }

  /// Takes the oldest event; nil, and the wake drained, when there is none.
  package func next() -> AudioEvent? {
    lock.withLock {
      if unsafe queue.isEmpty { wake.drain() }
      return unsafe queue.popFirst()
    }
  }

  /// The device's name, such as `pulse:alsa_input.usb`; the bare kind while there is none.
  package var name: String { lock.withLock { unsafe state.name } }

  /// Why the device cannot be used now; nil when it can.
  package var fault: AudioFault? { lock.withLock { unsafe state.fault } }

  /// The device can be used, as `device` of `kind`.
  func ready(_ device: String, kind: String) {
    lock.withLock {
      let name = "\(kind):\(device)"
      guard unsafe state.fault != nil || state.name != name else { return }
      unsafe state = (name, nil)
      post(.ready(device: name))
    }
  }

  /// The device cannot be used, because of `fault`.
  func lost(_ fault: AudioFault, kind: String) {
    lock.withLock {
      guard unsafe state.fault != fault else { return }
      unsafe state = (kind, fault)
      post(.lost(fault))
    }
  }

  /// The file has come to its end.
  func ended() { lock.withLock { post(.ended) } }

  private func post(_ event: AudioEvent) {
    unsafe queue.append(event)
    wake.signal()
  }
}
