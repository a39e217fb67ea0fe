import CPulse

/// Something about a device that the doctor may mend; each can be taken back with pactl(1).
package enum AudioChange: Hashable, Sendable {
  /// Lets a muted device sound again.
  case unmute(AudioDeviceInfo.Direction, name: String)
  /// Sets all channels of a device to a volume in percent.
  case volume(AudioDeviceInfo.Direction, name: String, percent: Int)
  /// Makes a source the one that new streams get.
  case defaultSource(name: String)

  /// Asks the sound server for it and waits for the answer, at most 3 s; throws why it was refused.
  package func perform(server: String? = nil) throws(AudioFault) {
    let answer = Answer()
    let data = unsafe Unmanaged.passUnretained(answer).toOpaque()
    try unsafe AudioDevices.withServer(server) { (context, loop, deadline) throws(AudioFault) in
      let operation = unsafe self.start(context, data)
      try unsafe AudioDevices.wait(operation, loop, deadline)
      guard answer.worked else {
        throw .streamRefused(reason: PulseAudio.text(unsafe pa_context_errno(context)))
      }
    }
  }

  private func start(
    _ context: OpaquePointer, _ data: UnsafeMutableRawPointer
  ) -> OpaquePointer? {
    switch self {
    case .unmute(.source, let name):
      return unsafe pa_context_set_source_mute_by_name(context, name, 0, changed, data)
    case .unmute(.sink, let name):
      return unsafe pa_context_set_sink_mute_by_name(context, name, 0, changed, data)
    case .volume(let direction, let name, let percent):
      // One channel stands for all: the server spreads it over the device's own.
      var volume = pa_cvolume()
      let level = pa_volume_t(UInt32(PA_VOLUME_NORM) / 100 * UInt32(clamping: percent))
      unsafe pa_cvolume_set(&volume, 1, level)
      return unsafe direction == .source
        ? pa_context_set_source_volume_by_name(context, name, &volume, changed, data)
        : pa_context_set_sink_volume_by_name(context, name, &volume, changed, data)
    case .defaultSource(let name):
      return unsafe pa_context_set_default_source(context, name, changed, data)
    }
  }

  fileprivate final class Answer {
    var worked = false
  }
}

/// pa_context_success_cb_t.
private func changed(
  _ context: OpaquePointer?, _ success: Int32, _ data: UnsafeMutableRawPointer?
) {
  guard let data = unsafe data else { return }
  unsafe Unmanaged<AudioChange.Answer>.fromOpaque(data).takeUnretainedValue().worked =
    success != 0
}
