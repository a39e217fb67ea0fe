import CAllocationProbe
import Glibc
import TalkAudio
import TalkCore
import Testing

/// Against a real server, started by the test.
@Suite(
  .serialized,
  .enabled(if: PrivateServer.program != nil, "needs the package pulseaudio to be installed"))
struct PulseAudioTests {
  let server: PrivateServer

  init() throws { server = try PrivateServer() }

  private func makeRig(_ script: String) throws -> (PulseAudio, Rig) {
    try server.start(script)
    let engine = try PulseAudio(server: server.address)
    return (engine, Rig(engine))
  }

  @Test func aToneGoesOutAndComesBack() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    #expect(rig.capture.name == "pulse:mic")
    #expect(rig.playback.name == "pulse:speaker")
    #expect(rig.captureEvents == [.ready(device: "pulse:mic")])
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try #require(rig.hearSomething())
    rig.heard = []
    rig.run(1_000)
    #expect(abs(rig.heard.count - 48_000) < 4_800)
    let crossings = zip(rig.heard, rig.heard.dropFirst()).count { $0 < 0 && $1 >= 0 }
    let hertz = Double(crossings) * 48_000 / Double(rig.heard.count)
    #expect(abs(hertz - 440) < 10)
    #expect(rig.capture.overruns == 0)
  }

  @Test func aStoppedDeviceMovesNothing() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    rig.sound = tone
    rig.run(200)
    #expect(rig.heard.isEmpty && rig.written == 0)
    rig.capture.start()
    rig.playback.start()
    try #require(rig.hearSomething())
    rig.capture.stop()
    rig.playback.stop()
    rig.run(100)
    rig.heard = []
    let written = rig.written
    rig.run(200)
    #expect(rig.heard.isEmpty && rig.written == written)
  }

  @Test func theFirstSampleComesSoonAfterThePress() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    var delays: [Double] = []
    for _ in 0..<12 {
      rig.firstHeard = nil
      let pressed = Clock.now()
      rig.capture.start()
      try #require(rig.run(2_000) { rig.firstHeard != nil })
      delays.append((rig.firstHeard ?? 0) - pressed)
      rig.capture.stop()
      rig.run(100)
    }
    delays.sort()
    #expect(delays[6] < 60)
  }

  @Test func aClickComesBackWithinAHundredMilliseconds() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    rig.capture.start()
    rig.playback.start()
    rig.run(500)
    var delays: [Double] = []
    for _ in 0..<10 {
      var sent: Double?
      let from = rig.written
      rig.sound = { index in
        if sent == nil { sent = Clock.now() }
        return index < from + 480 ? tone(index) : 0
      }
      try #require(rig.hearSomething(1_000))
      delays.append(Clock.now() - (sent ?? 0))
      rig.sound = nil
      rig.run(150)
    }
    delays.sort()
    #expect(delays[5] < 100)
  }

  @Test func aKilledServerIsFoundAgainInASecond() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try #require(rig.hearSomething())
    for pause in [300.0, 2_500] {
      server.kill()
      #expect(rig.run(1_000) { rig.capture.fault != nil && rig.playback.fault != nil })
      rig.run(pause)
      guard case .lost(.noServer) = rig.captureEvents.last else {
        Issue.record("\(rig.captureEvents)")
        return
      }
      try server.start(PrivateServer.loop)
      let back = Clock.now()
      #expect(rig.hearSomething(3_000))
      #expect(Clock.now() - back < 1_000)
    }
  }

  @Test func withoutAServerAtTheStartOneIsFoundLater() throws {
    let engine = try PulseAudio(server: server.address)
    defer { engine.close() }
    let rig = Rig(engine)
    #expect(rig.run(1_000) { rig.captureEvents.count > 0 })
    guard case .lost(.noServer) = rig.captureEvents.last else {
      Issue.record("\(rig.captureEvents)")
      return
    }
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try server.start(PrivateServer.loop)
    #expect(rig.hearSomething())
  }

  @Test func aMonitorIsNoMicrophoneUntilARealOneComes() throws {
    let (engine, rig) = try makeRig(PrivateServer.speakerOnly)
    defer { engine.close() }
    let refused = AudioFault.monitorRefused(device: "speaker.monitor")
    try #require(rig.run(5_000) { rig.capture.fault == refused && rig.playback.fault == nil })
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    rig.run(500)
    #expect(rig.heard.isEmpty)
    try server.control(
      "load-module", "module-remap-source", "source_name=mic",
      "master=speaker.monitor", "channels=1")
    try server.control("set-default-source", "mic")
    #expect(rig.hearSomething())
    #expect(rig.capture.name == "pulse:mic")
    try server.control("set-default-source", "speaker.monitor")
    #expect(rig.run(2_000) { rig.capture.fault == refused })
    // What was passed on before the refusal may still be in the ring.
    rig.run(5)
    rig.heard = []
    rig.run(300)
    #expect(rig.heard.isEmpty)
  }

  @Test func devicesThatComeAfterTheStartAreUsed() throws {
    let (engine, rig) = try makeRig("")
    defer { engine.close() }
    try #require(
      rig.run(5_000) { rig.capture.fault == .noMicrophone && rig.playback.fault == .noSpeaker })
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try server.control("load-module", "module-null-sink", "sink_name=late", "norewinds=1")
    try server.control(
      "load-module", "module-remap-source", "source_name=mic",
      "master=late.monitor", "channels=1")
    #expect(rig.hearSomething())
  }

  @Test func aMicrophoneThatGoesAndComesBackIsUsedAgain() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try #require(rig.hearSomething())
    try server.control("unload-module", "module-remap-source")
    #expect(rig.run(2_000) { rig.capture.fault != nil })
    #expect(rig.playback.fault == nil)
    try server.control(
      "load-module", "module-remap-source", "source_name=mic",
      "master=speaker.monitor", "channels=1")
    #expect(rig.hearSomething(1_000))
  }

  @Test func aFrozenServerBlocksNobody() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    server.freeze(true)
    defer { server.freeze(false) }
    let before = Clock.now()
    for _ in 0..<1_000 {
      rig.capture.start()
      rig.playback.start()
      rig.capture.stop()
      rig.playback.stop()
    }
    #expect(Clock.now() - before < 500)
  }

  @Test func aLateLoopIsHeardAgainWhenItComesBack() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try #require(rig.hearSomething())
    // The loop is away for longer than the server and the ring hold.
    _ = poll(nil, 0, 700)
    #expect(rig.playback.underruns > 0)
    #expect(rig.capture.overruns > 0)
    rig.run(500)
    #expect(rig.hearSomething(500))
  }

  @Test func soundFromBeforeThePressIsDropped() throws {
    // A pipe source that nobody reads keeps what was put in: here 170 ms of loud sound.
    let pipe = server.folder.appending(path: "pipe").path
    let (engine, rig) = try makeRig(
      """
      load-module module-null-sink sink_name=speaker norewinds=1
      load-module module-pipe-source source_name=mic file=\(pipe) format=s16le rate=48000 channels=1
      set-default-source mic
      """)
    defer { engine.close() }
    try #require(rig.becomeReady())
    let descriptor = open(pipe, O_RDWR | O_NONBLOCK)
    defer { close(descriptor) }
    let stale = [Int16](repeating: 20_000, count: 8_192)
    _ = stale.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    rig.run(300)
    rig.capture.start()
    rig.run(300)
    // What a sound card's period may hold is let through, the rest is not.
    #expect(rig.heard.count { $0 == 20_000 } <= 2_880)
  }

  @Test(.enabled(if: talk_probe_works() != 0, "a sanitizer needs malloc for itself"))
  func theCallbacksAllocateNothing() throws {
    let (engine, rig) = try makeRig(PrivateServer.loop)
    defer { engine.close() }
    try #require(rig.becomeReady())
    rig.sound = tone
    rig.capture.start()
    rig.playback.start()
    try #require(rig.hearSomething())
    rig.run(500)
    let callbacks = talk_probe_callbacks()
    let allocations = talk_probe_callback_allocations()
    rig.run(1_000)
    #expect(talk_probe_callbacks() - callbacks > 100)
    #expect(talk_probe_callback_allocations() == allocations)
  }

  @Test func theDevicesAreListed() throws {
    try server.start(PrivateServer.loop)
    try server.control("set-sink-volume", "speaker", "50%")
    try server.control("set-source-mute", "mic", "1")
    let devices = try AudioDevices.list(server: server.address)
    #expect(devices.map(\.name) == ["speaker.monitor", "mic", "speaker"])
    #expect(devices.map(\.isDefault) == [false, true, true])
    #expect(devices.map(\.isMonitor) == [true, false, false])
    #expect(devices.map(\.isMuted) == [false, true, false])
    #expect(devices.map(\.volume) == [100, 100, 50])
    #expect(devices.map(\.direction) == [.source, .source, .sink])
  }

  @Test func withoutAServerTheListSaysSo() throws {
    let error = #expect(throws: AudioFault.self) {
      try AudioDevices.list(server: server.address)
    }
    guard case .noServer? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.description.contains("PULSE_SERVER") == true)
  }
}
