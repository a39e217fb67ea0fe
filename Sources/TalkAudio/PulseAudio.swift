import CPulse
import Glibc

/// Sound through a PulseAudio server, or PipeWire in its place.
///
/// Drive it so: make one, use `capture` and `playback`, `close` it. It connects by itself, again
/// and again when the server goes (100 ms to 800 ms apart, so that sound is back within a second of
/// the server's return), makes both streams at once and keeps them corked until their device is
/// started: the first captured sample then comes in some 10 ms instead of 41.
///
/// Everything of libpulse happens on its own thread (pa_threaded_mainloop), and nobody else takes
/// that thread's lock: devices leave a wish in an atomic and wake the thread by eventfd, so a
/// stuck server never blocks a caller.
@safe package final class PulseAudio: Sendable {
  static let kind = "pulse"
  private static let firstRetry: UInt64 = 100_000
  private static let longestRetry: UInt64 = 800_000

  /// The microphone.
  package let capture: PulseCapture
  /// The loudspeaker.
  package let playback: PulsePlayback

  private let command: Wake
  private let server: String?
  /// All of this belongs to libpulse's thread while that runs.
  private nonisolated(unsafe) let mainloop: OpaquePointer
  private nonisolated(unsafe) let api: UnsafeMutablePointer<pa_mainloop_api>
  private nonisolated(unsafe) var commandEvent: OpaquePointer?
  private nonisolated(unsafe) var retryEvent: OpaquePointer?
  private nonisolated(unsafe) var context: OpaquePointer?
  private nonisolated(unsafe) var streams: [PulseStream]
  private nonisolated(unsafe) var retryDelay = firstRetry
  private nonisolated(unsafe) var isClosed = false

  /// Starts libpulse's thread and the first attempt to connect. `server` is as in PULSE_SERVER; nil
  /// leaves the choice to libpulse (that variable, client.conf, XDG_RUNTIME_DIR). `source` and
  /// `sink` name devices as the server does; nil is the default one, wherever that moves.
  package init(
    server: String? = nil, source: String? = nil, sink: String? = nil
  ) throws(AudioFault) {
    self.server = server
    command = try Wake()
    capture = try PulseCapture(command: command)
    playback = try PulsePlayback(command: command)
    unsafe streams = [
      PulseStream(.capture(capture), device: source),
      PulseStream(.playback(playback), device: sink),
    ]
    guard let loop = unsafe pa_threaded_mainloop_new(),
      let api = unsafe pa_threaded_mainloop_get_api(loop)
    else { throw .noResources(what: "pa_threaded_mainloop") }
    unsafe mainloop = loop
    unsafe self.api = api
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe commandEvent = api.pointee.io_new(
      api, command.descriptor, PA_IO_EVENT_INPUT, commandArrived, this)
    unsafe pa_threaded_mainloop_set_name(loop, "pulse")
    connect()
    guard unsafe context != nil, unsafe pa_threaded_mainloop_start(loop) == 0 else {
      tearDown()
      throw .noResources(what: "thread of libpulse")
    }
  }

  /// Ends libpulse's thread and lets go of the server. The devices stay, and give nothing more.
  /// Call it on the thread that made this, which waits for at most one callback, and before letting
  /// go of the last reference.
  package func close() {
    guard unsafe !isClosed else { return }
    unsafe pa_threaded_mainloop_stop(mainloop)
    tearDown()
  }

  deinit { close() }

  private func tearDown() {
    unsafe isClosed = true
    dropContext()
    if let event = unsafe commandEvent { unsafe api.pointee.io_free(event) }
    unsafe pa_threaded_mainloop_free(mainloop)
  }

  private func dropContext() {
    for stream in unsafe streams { stream.drop() }
    if let event = unsafe retryEvent { unsafe api.pointee.time_free(event) }
    unsafe retryEvent = nil
    guard let old = unsafe context else { return }
    unsafe pa_context_set_state_callback(old, nil, nil)
    unsafe pa_context_set_subscribe_callback(old, nil, nil)
    unsafe pa_context_disconnect(old)
    unsafe pa_context_unref(old)
    unsafe context = nil
  }

  /// Makes a new context and lets it connect, without starting a server (pa_context_connect).
  fileprivate func connect() {
    let properties = unsafe pa_proplist_new()
    defer { unsafe pa_proplist_free(properties) }
    unsafe pa_proplist_sets(properties, PA_PROP_APPLICATION_ID, "net.talkaround")
    guard let made = unsafe pa_context_new_with_proplist(api, "Talkaround", properties) else {
      // The old context is still there to wait with.
      return retryLater(.noResources(what: "pa_context"))
    }
    dropContext()
    unsafe context = made
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe pa_context_set_state_callback(made, contextStateChanged, this)
    unsafe pa_context_set_subscribe_callback(made, serverChanged, this)
    if unsafe pa_context_connect(made, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 {
      retryLater(.noServer(reason: Self.text(unsafe pa_context_errno(made))))
    }
  }

  fileprivate func contextChanged() {
    guard let context = unsafe context else { return }
    switch unsafe pa_context_get_state(context) {
    case PA_CONTEXT_READY:
      unsafe retryDelay = Self.firstRetry
      let kinds = pa_subscription_mask_t(
        rawValue: PA_SUBSCRIPTION_MASK_SERVER.rawValue | PA_SUBSCRIPTION_MASK_SOURCE.rawValue
          | PA_SUBSCRIPTION_MASK_SINK.rawValue)
      unsafe Self.forget(pa_context_subscribe(context, kinds, nil, nil))
      makeStreams()
    case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED:
      retryLater(.noServer(reason: Self.text(unsafe pa_context_errno(context))))
    default: break
    }
  }

  /// Makes the streams that are not there: at the start, and whenever devices came or changed.
  fileprivate func makeStreams() {
    guard let context = unsafe context, unsafe pa_context_get_state(context) == PA_CONTEXT_READY
    else { return }
    for stream in unsafe streams { unsafe stream.make(in: context) }
  }

  /// Says that there is no server, and tries again after a while (pa_context_rttime_new, which
  /// needs a context of any state).
  private func retryLater(_ fault: AudioFault) {
    for stream in unsafe streams { stream.lose(fault) }
    guard let context = unsafe context, unsafe retryEvent == nil else { return }
    let delay = unsafe retryDelay
    unsafe retryDelay = min(Self.longestRetry, delay * 2)
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe retryEvent = pa_context_rttime_new(
      context, pa_rtclock_now() + delay, retryDue, this)
  }

  fileprivate func retry() {
    if let event = unsafe retryEvent { unsafe api.pointee.time_free(event) }
    unsafe retryEvent = nil
    connect()
  }

  fileprivate func obey() {
    command.drain()
    for stream in unsafe streams { stream.apply() }
  }

  /// Lets go of an operation whose result nobody waits for (pa_operation_unref).
  static func forget(_ operation: OpaquePointer?) {
    if let operation = unsafe operation { unsafe pa_operation_unref(operation) }
  }

  /// libpulse's text for an error code (pa_strerror).
  static func text(_ code: Int32) -> String { unsafe string(pa_strerror(code)) }

  /// A copy of a C string that may be missing.
  static func string(_ text: UnsafePointer<CChar>?) -> String {
    guard let text = unsafe text else { return "?" }
    return unsafe String(cString: text)
  }
}

private func engine(_ data: UnsafeMutableRawPointer?) -> PulseAudio? {
  guard let data = unsafe data else { return nil }
  return unsafe Unmanaged<PulseAudio>.fromOpaque(data).takeUnretainedValue()
}

private func contextStateChanged(_ context: OpaquePointer?, _ data: UnsafeMutableRawPointer?) {
  unsafe engine(data)?.contextChanged()
}

private func serverChanged(
  _ context: OpaquePointer?, _ kind: pa_subscription_event_type_t, _ index: UInt32,
  _ data: UnsafeMutableRawPointer?
) {
  let isRemoval =
    kind.rawValue & PA_SUBSCRIPTION_EVENT_TYPE_MASK.rawValue
    == PA_SUBSCRIPTION_EVENT_REMOVE.rawValue
  if !isRemoval { unsafe engine(data)?.makeStreams() }
}

private func commandArrived(
  _ api: UnsafeMutablePointer<pa_mainloop_api>?, _ event: OpaquePointer?, _ descriptor: Int32,
  _ flags: pa_io_event_flags_t, _ data: UnsafeMutableRawPointer?
) {
  unsafe engine(data)?.obey()
}

private func retryDue(
  _ api: UnsafeMutablePointer<pa_mainloop_api>?, _ event: OpaquePointer?,
  _ time: UnsafePointer<timeval>?, _ data: UnsafeMutableRawPointer?
) {
  unsafe engine(data)?.retry()
}
