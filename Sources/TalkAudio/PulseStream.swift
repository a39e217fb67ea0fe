import CPulse
import Synchronization
import TalkCore

/// One direction's stream on libpulse's thread: made, corked, moved, lost and made again. Nothing
/// here may be touched by another thread.
@safe final class PulseStream {
  /// Which way the samples go, and who takes or gives them.
  enum End {
    case capture(PulseCapture)
    case playback(PulsePlayback)
  }

  /// Where a stream is on its way to be of use.
  private enum Phase {
    case none
    /// Being made by the server.
    case making
    /// Made; the server is asked whether its device is fit for us.
    case checking
    /// Runs, or is corked.
    case usable
    /// Its device is not fit; it stays corked until it is moved.
    case unfit
  }

  /// Bytes of 10 ms.
  private static let period = UInt32(AudioLimits.quantum * 2)

  let end: End
  private var stream: OpaquePointer?
  private var phase = Phase.none
  private var isRunning = false
  /// True when devices changed while a stream was being made.
  private var wantsRetry = false

  /// The device by the server's name; nil is the default one.
  private let device: String?

  init(_ end: End, device: String?) {
    self.end = end
    self.device = device
  }

  private var events: AudioEvents {
    switch end {
    case .capture(let capture): capture.events
    case .playback(let playback): playback.events
    }
  }

  private var isWanted: Bool {
    switch end {
    case .capture(let capture): capture.isStarted.load(ordering: .acquiring)
    case .playback(let playback): playback.isStarted.load(ordering: .acquiring)
    }
  }

  /// Makes a stream, corked, on its device, unless there is one (pa_stream_connect_record,
  /// _playback). Never pinned, so that the server moves it when its device goes.
  func make(in context: OpaquePointer) {
    guard unsafe stream == nil else {
      if phase == .making { wantsRetry = true }
      return
    }
    var format = pa_sample_spec(
      format: PA_SAMPLE_S16LE, rate: UInt32(AudioLimits.sampleRate), channels: 1)
    let properties = unsafe pa_proplist_new()
    defer { unsafe pa_proplist_free(properties) }
    unsafe pa_proplist_sets(properties, PA_PROP_MEDIA_ROLE, "phone")
    guard
      let made = unsafe pa_stream_new_with_proplist(
        context, "Talkaround", &format, nil, properties)
    else { return lose(.noResources(what: "stream")) }
    unsafe stream = made
    phase = .making
    wantsRetry = false
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe pa_stream_set_state_callback(made, streamStateChanged, this)
    unsafe pa_stream_set_moved_callback(made, streamMoved, this)
    let flags = pa_stream_flags_t(
      rawValue: PA_STREAM_START_CORKED.rawValue | PA_STREAM_ADJUST_LATENCY.rawValue)
    var buffer = pa_buffer_attr(
      maxlength: .max, tlength: 3 * Self.period, prebuf: 0, minreq: Self.period / 2,
      fragsize: Self.period)
    var code: Int32
    switch end {
    case .capture(let capture):
      let data = unsafe Unmanaged.passUnretained(capture).toOpaque()
      unsafe pa_stream_set_read_callback(made, captureReadable, data)
      code = unsafe pa_stream_connect_record(made, device, &buffer, flags)
    case .playback(let playback):
      let data = unsafe Unmanaged.passUnretained(playback).toOpaque()
      unsafe pa_stream_set_write_callback(made, playbackWritable, data)
      unsafe pa_stream_set_underflow_callback(made, playbackUnderflowed, data)
      code = unsafe pa_stream_connect_playback(made, device, &buffer, flags, nil, nil)
    }
    if code < 0 { lose(.streamRefused(reason: PulseAudio.text(-code))) }
  }

  /// Corks or uncorks as the device was told, and passes on what was written. Playback begins only
  /// once there is something to play, so that it does not begin by running dry.
  func apply() {
    guard let stream = unsafe stream, phase != .making, phase != .none else { return }
    let shouldRun = isWanted && phase == .usable
    switch end {
    case .capture(let capture):
      guard shouldRun != isRunning else { return }
      unsafe PulseAudio.forget(pa_stream_flush(stream, nil, nil))
      if shouldRun { capture.willUncork() } else { capture.didCork() }
    case .playback(let playback):
      if shouldRun {
        unsafe playback.supply(stream, ask: !isRunning)
        guard unsafe playback.isPrimed, !isRunning else { return }
      } else {
        guard isRunning else { return playback.didCork() }
        unsafe PulseAudio.forget(pa_stream_flush(stream, nil, nil))
        playback.didCork()
      }
    }
    isRunning = shouldRun
    unsafe PulseAudio.forget(pa_stream_cork(stream, shouldRun ? 0 : 1, nil, nil))
  }

  /// Lets go of the stream without a word: the server is gone, or we are.
  func drop() {
    guard let old = unsafe stream else { return }
    unsafe pa_stream_set_state_callback(old, nil, nil)
    unsafe pa_stream_set_moved_callback(old, nil, nil)
    unsafe pa_stream_set_read_callback(old, nil, nil)
    unsafe pa_stream_set_write_callback(old, nil, nil)
    unsafe pa_stream_set_underflow_callback(old, nil, nil)
    unsafe pa_stream_disconnect(old)
    unsafe pa_stream_unref(old)
    unsafe stream = nil
    phase = .none
    isRunning = false
    switch end {
    case .capture(let capture): capture.didCork()
    case .playback(let playback): playback.didCork()
    }
  }

  /// Lets go of the stream, and says why.
  func lose(_ fault: AudioFault) {
    drop()
    events.lost(fault, kind: PulseAudio.kind)
  }

  fileprivate func stateChanged(_ stream: OpaquePointer) {
    switch unsafe pa_stream_get_state(stream) {
    case PA_STREAM_READY: unsafe check(stream)
    case PA_STREAM_FAILED, PA_STREAM_TERMINATED:
      let context = unsafe pa_stream_get_context(stream)
      let code = unsafe pa_context_errno(context)
      let retry = wantsRetry
      // No entity: there is no device; killed: it went, and the stream had nowhere to go.
      let gone = [PA_ERR_NOENTITY.rawValue, PA_ERR_KILLED.rawValue, PA_OK.rawValue]
      if gone.contains(where: { Int32($0) == code }) {
        if case .capture = end { lose(.noMicrophone) } else { lose(.noSpeaker) }
      } else {
        lose(.streamRefused(reason: PulseAudio.text(code)))
      }
      if retry, let context = unsafe context { unsafe make(in: context) }
    default: break
    }
  }

  /// Asks what the stream is attached to; until the answer it stays corked.
  fileprivate func check(_ stream: OpaquePointer) {
    phase = .checking
    apply()
    guard case .capture = end else {
      phase = .usable
      return unsafe announce(stream)
    }
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe PulseAudio.forget(
      pa_context_get_source_info_by_index(
        pa_stream_get_context(stream), pa_stream_get_device_index(stream), sourceDescribed, this))
  }

  /// The answer: whether the source numbered `index` is a sink's monitor.
  fileprivate func checked(index: UInt32, isMonitor: Bool) {
    guard let stream = unsafe stream, phase == .checking,
      unsafe pa_stream_get_device_index(stream) == index
    else { return }
    if isMonitor {
      phase = .unfit
      let device = unsafe PulseAudio.string(pa_stream_get_device_name(stream))
      events.lost(.monitorRefused(device: device), kind: PulseAudio.kind)
    } else {
      phase = .usable
      unsafe announce(stream)
    }
  }

  private func announce(_ stream: OpaquePointer) {
    events.ready(
      unsafe PulseAudio.string(pa_stream_get_device_name(stream)), kind: PulseAudio.kind)
    apply()
  }
}

private func streamStateChanged(_ stream: OpaquePointer?, _ data: UnsafeMutableRawPointer?) {
  guard let stream = unsafe stream, let data = unsafe data else { return }
  unsafe Unmanaged<PulseStream>.fromOpaque(data).takeUnretainedValue().stateChanged(stream)
}

private func streamMoved(_ stream: OpaquePointer?, _ data: UnsafeMutableRawPointer?) {
  guard let stream = unsafe stream, let data = unsafe data else { return }
  unsafe Unmanaged<PulseStream>.fromOpaque(data).takeUnretainedValue().check(stream)
}

private func sourceDescribed(
  _ context: OpaquePointer?, _ info: UnsafePointer<pa_source_info>?, _ end: Int32,
  _ data: UnsafeMutableRawPointer?
) {
  guard end == 0, let info = unsafe info, let data = unsafe data else { return }
  let isMonitor = unsafe info.pointee.monitor_of_sink != .max
  unsafe Unmanaged<PulseStream>.fromOpaque(data).takeUnretainedValue()
    .checked(index: info.pointee.index, isMonitor: isMonitor)
}

private func captureReadable(
  _ stream: OpaquePointer?, _ bytes: Int, _ data: UnsafeMutableRawPointer?
) {
  guard let stream = unsafe stream, let data = unsafe data else { return }
  unsafe Unmanaged<PulseCapture>.fromOpaque(data).takeUnretainedValue().take(from: stream)
}

private func playbackWritable(
  _ stream: OpaquePointer?, _ bytes: Int, _ data: UnsafeMutableRawPointer?
) {
  guard let stream = unsafe stream, let data = unsafe data else { return }
  unsafe Unmanaged<PulsePlayback>.fromOpaque(data).takeUnretainedValue().supply(stream, ask: true)
}

private func playbackUnderflowed(_ stream: OpaquePointer?, _ data: UnsafeMutableRawPointer?) {
  guard let stream = unsafe stream, let data = unsafe data else { return }
  unsafe Unmanaged<PulsePlayback>.fromOpaque(data).takeUnretainedValue().relieve(stream)
}
