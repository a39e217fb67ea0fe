import CPulse

/// A source or sink of the sound server, as `talkaround devices` shows it.
package struct AudioDeviceInfo: Hashable, Sendable {
  /// Which way its sound goes.
  package enum Direction: String, Sendable {
    /// A microphone, or a sink's monitor.
    case source
    /// A loudspeaker.
    case sink
  }

  /// Which way its sound goes.
  package var direction: Direction
  /// The name by which `pactl` takes it.
  package var name: String
  /// What people call it; text of the server.
  package var description: String
  /// True for the one that new streams get.
  package var isDefault: Bool
  /// True for what a sink plays: never used as a microphone.
  package var isMonitor: Bool
  /// The loudest channel's volume in percent; above 100 is amplified.
  package var volume: Int
  /// True when it is muted.
  package var isMuted: Bool

  /// A device of its parts.
  package init(
    direction: Direction, name: String, description: String, isDefault: Bool, isMonitor: Bool,
    volume: Int, isMuted: Bool
  ) {
    self.direction = direction
    self.name = name
    self.description = description
    self.isDefault = isDefault
    self.isMonitor = isMonitor
    self.volume = volume
    self.isMuted = isMuted
  }
}

/// What sound devices there are.
package enum AudioDevices {
  /// How long the server may take to answer, in microseconds.
  private static let patience: UInt64 = 3_000_000
  /// The most devices that are listed.
  private static let limit = 256

  /// Asks the server (as in PULSE_SERVER; nil leaves the choice to libpulse) for all sources and
  /// sinks, in its order. Waits for the answer, at most 3 s: not for the loop. Throws `noServer`.
  package static func list(server: String? = nil) throws(AudioFault) -> [AudioDeviceInfo] {
    let found = Found()
    let data = unsafe Unmanaged.passUnretained(found).toOpaque()
    try unsafe withServer(server) { (context, loop, deadline) throws(AudioFault) in
      try unsafe wait(pa_context_get_server_info(context, serverFound, data), loop, deadline)
      try unsafe wait(pa_context_get_source_info_list(context, sourceFound, data), loop, deadline)
      try unsafe wait(pa_context_get_sink_info_list(context, sinkFound, data), loop, deadline)
    }
    return found.devices
  }

  /// Connects, lets `body` ask with a context that is ready, and lets go of the server.
  static func withServer(
    _ server: String?,
    _ body: (OpaquePointer, OpaquePointer, UInt64) throws(AudioFault) -> Void
  ) throws(AudioFault) {
    guard let loop = unsafe pa_mainloop_new(),
      let context = unsafe pa_context_new(pa_mainloop_get_api(loop), "Talkaround")
    else { throw .noResources(what: "pa_mainloop") }
    defer {
      unsafe pa_context_disconnect(context)
      unsafe pa_context_unref(context)
      unsafe pa_mainloop_free(loop)
    }
    let deadline = pa_rtclock_now() + patience
    if unsafe pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 {
      throw .noServer(reason: PulseAudio.text(unsafe pa_context_errno(context)))
    }
    while true {
      let state = unsafe pa_context_get_state(context)
      if state == PA_CONTEXT_READY { break }
      guard state != PA_CONTEXT_FAILED, state != PA_CONTEXT_TERMINATED else {
        throw .noServer(reason: PulseAudio.text(unsafe pa_context_errno(context)))
      }
      try unsafe turn(loop, until: deadline)
    }
    try unsafe body(context, loop, deadline)
  }

  /// Waits until the operation is done, and lets go of it.
  static func wait(
    _ operation: OpaquePointer?, _ loop: OpaquePointer, _ deadline: UInt64
  ) throws(AudioFault) {
    guard let operation = unsafe operation else { return }
    defer { unsafe pa_operation_unref(operation) }
    while unsafe pa_operation_get_state(operation) == PA_OPERATION_RUNNING {
      try unsafe turn(loop, until: deadline)
    }
  }

  /// Lets libpulse work for at most 100 ms.
  private static func turn(_ loop: OpaquePointer, until deadline: UInt64) throws(AudioFault) {
    guard pa_rtclock_now() < deadline, unsafe pa_mainloop_prepare(loop, 100_000) >= 0,
      unsafe pa_mainloop_poll(loop) >= 0, unsafe pa_mainloop_dispatch(loop) >= 0
    else { throw .noServer(reason: "no answer in \(patience / 1_000_000) s") }
  }

  /// What the answers have told.
  fileprivate final class Found {
    var devices: [AudioDeviceInfo] = []
    var defaultSource = ""
    var defaultSink = ""

    func add(_ device: AudioDeviceInfo) {
      if devices.count < limit { devices.append(device) }
    }
  }

  fileprivate static func percent(_ volume: pa_cvolume) -> Int {
    var volume = volume
    let loudest = unsafe pa_cvolume_max(&volume)
    return (Int(loudest) * 100 + Int(PA_VOLUME_NORM) / 2) / Int(PA_VOLUME_NORM)
  }
}

private func found(_ data: UnsafeMutableRawPointer?) -> AudioDevices.Found? {
  guard let data = unsafe data else { return nil }
  return unsafe Unmanaged<AudioDevices.Found>.fromOpaque(data).takeUnretainedValue()
}

private func serverFound(
  _ context: OpaquePointer?, _ info: UnsafePointer<pa_server_info>?,
  _ data: UnsafeMutableRawPointer?
) {
  guard let info = unsafe info, let found = unsafe found(data) else { return }
  found.defaultSource = unsafe PulseAudio.string(info.pointee.default_source_name)
  found.defaultSink = unsafe PulseAudio.string(info.pointee.default_sink_name)
}

private func sourceFound(
  _ context: OpaquePointer?, _ info: UnsafePointer<pa_source_info>?, _ end: Int32,
  _ data: UnsafeMutableRawPointer?
) {
  guard end == 0, let info = unsafe info, let found = unsafe found(data) else { return }
  let name = unsafe PulseAudio.string(info.pointee.name)
  found.add(
    AudioDeviceInfo(
      direction: .source, name: name,
      description: unsafe PulseAudio.string(info.pointee.description),
      isDefault: name == found.defaultSource,
      isMonitor: unsafe info.pointee.monitor_of_sink != .max,
      volume: unsafe AudioDevices.percent(info.pointee.volume),
      isMuted: unsafe info.pointee.mute != 0))
}

private func sinkFound(
  _ context: OpaquePointer?, _ info: UnsafePointer<pa_sink_info>?, _ end: Int32,
  _ data: UnsafeMutableRawPointer?
) {
  guard end == 0, let info = unsafe info, let found = unsafe found(data) else { return }
  let name = unsafe PulseAudio.string(info.pointee.name)
  found.add(
    AudioDeviceInfo(
      direction: .sink, name: name,
      description: unsafe PulseAudio.string(info.pointee.description),
      isDefault: name == found.defaultSink, isMonitor: false,
      volume: unsafe AudioDevices.percent(info.pointee.volume),
      isMuted: unsafe info.pointee.mute != 0))
}
