import Foundation
import TalkAudio
import TalkCore
import Testing

@Suite struct FileAndNullTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func path(_ name: String) -> String { folder.url.appending(path: name).path }

  /// A 16-bit WAV file, written by hand.
  private func writeWave(_ name: String, rate: Int, channels: Int, _ samples: [Int16]) throws {
    func bytes(_ value: Int, _ width: Int) -> [UInt8] {
      (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let data = samples.flatMap { bytes(Int($0), 2) }
    var file = Array("RIFF".utf8) + bytes(36 + data.count, 4) + Array("WAVEfmt ".utf8)
    file += bytes(16, 4) + bytes(1, 2) + bytes(channels, 2) + bytes(rate, 4)
    file += bytes(rate * channels * 2, 4) + bytes(channels * 2, 2) + bytes(16, 2)
    file += Array("data".utf8) + bytes(data.count, 4) + data
    try Data(file).write(to: URL(filePath: path(name)))
  }

  private func frequency(_ sound: some Collection<Int16>) -> Double {
    let crossings = zip(sound, sound.dropFirst()).count { $0 < 0 && $1 >= 0 }
    return Double(crossings) * 48_000 / Double(sound.count)
  }

  @Test(arguments: [8_000, 22_050, 44_100, 48_000, 96_000], [1, 2])
  func filesOfAnyRateBecomeMonoAt48Kilohertz(rate: Int, channels: Int) throws {
    let samples = (0..<rate).flatMap { index in
      let value = Int16(8_000 * Platform.sine(2 * .pi * 500 * Double(index) / Double(rate)))
      return [Int16](repeating: value, count: channels)
    }
    try writeWave("in.wav", rate: rate, channels: channels, samples)
    let rig = Rig(
      try WaveFileCapture(path: path("in.wav"), pace: .asAsked), try NullPlayback())
    rig.capture.start()
    #expect(rig.run(5_000) { rig.captureEvents.contains(.ended) && rig.heard.count >= 47_500 })
    #expect(abs(rig.heard.count - 48_000) < 100)
    let middle = rig.heard[4_800..<min(43_200, rig.heard.count)]
    #expect(abs(frequency(middle) - 500) < 3)
    let peak = middle.map { abs(Int($0)) }.max() ?? 0
    #expect(abs(peak - 8_000) < 100)
  }

  @Test func aFileAsMicrophoneComesInRealTimeAndSilenceFollows() throws {
    try writeWave("in.wav", rate: 48_000, channels: 1, [Int16](repeating: 1_000, count: 9_600))
    let rig = Rig(try WaveFileCapture(path: path("in.wav")), try NullPlayback())
    rig.run(50)
    #expect(rig.heard.isEmpty)
    let start = Clock.now()
    rig.capture.start()
    #expect(rig.run(5_000) { rig.heard.count >= 24_000 })
    let took = Clock.now() - start
    #expect(took > 470 && took < 1_500)
    #expect(rig.captureEvents == [.ended])
    #expect(rig.heard.prefix(9_600).allSatisfy { $0 == 1_000 })
    #expect(rig.heard.dropFirst(9_600).allSatisfy { $0 == 0 })
  }

  @Test func aFileAsLoudspeakerHoldsWhatWasHeard() throws {
    let rig = Rig(try NullCapture(), try WaveFilePlayback(path: path("out.wav")))
    rig.sound = tone
    rig.playback.start()
    rig.run(500)
    rig.playback.stop()
    rig.run(50)
    let back = Rig(
      try WaveFileCapture(path: path("out.wav"), pace: .asAsked), try NullPlayback())
    back.capture.start()
    #expect(back.run(3_000) { back.captureEvents.contains(.ended) && back.heard.count > 14_400 })
    #expect(abs(frequency(back.heard) - 440) < 60)
    #expect(rig.playback.name == "wav:\(path("out.wav"))")
  }

  @Test func nothingIsAlsoADevice() throws {
    let rig = Rig(try NullCapture(), try NullPlayback())
    rig.capture.start()
    rig.playback.start()
    #expect(rig.run(3_000) { rig.heard.count >= 9_600 && rig.written >= 9_600 })
    #expect(rig.heard.allSatisfy { $0 == 0 })
    rig.capture.stop()
    rig.playback.stop()
    rig.run(30)
    let heard = rig.heard.count
    rig.run(100)
    #expect(rig.heard.count == heard)
    #expect(rig.capture.name == "null" && rig.capture.fault == nil)
  }

  @Test func aFileWithoutASampleIsRefused() throws {
    try Data().write(to: URL(filePath: path("nothing.wav")))
    try writeWave("header.wav", rate: 48_000, channels: 1, [])
    for name in ["nothing.wav", "header.wav"] {
      #expect(throws: AudioFault.emptyFile(path: path(name))) {
        try WaveFileCapture(path: path(name))
      }
    }
    let text = AudioFault.emptyFile(path: "a.wav").description
    #expect(text == "there is no sound in a.wav: record it again, or name another file")
  }

  @Test func aFileThatIsCutShortIsRefusedWhereverItWasCut() throws {
    try writeWave("whole.wav", rate: 48_000, channels: 1, [Int16](repeating: 99, count: 480))
    let whole = try Data(contentsOf: URL(filePath: path("whole.wav")))
    for count in [8, 20, 44, 45, 524, 1_002] {
      try whole.prefix(count).write(to: URL(filePath: path("cut.wav")))
      #expect(throws: AudioFault.cutShort(path: path("cut.wav"), bytes: count, of: whole.count)) {
        try WaveFileCapture(path: path("cut.wav"))
      }
    }
    for count in 1..<8 {
      try whole.prefix(count).write(to: URL(filePath: path("cut.wav")))
      #expect(throws: AudioFault.self) { try WaveFileCapture(path: path("cut.wav")) }
    }
  }

  @Test(arguments: [UInt32(0x7fff_f000), 0xffff_ffff])
  func aLengthThatWasNotKnownYetIsNoLie(length: UInt32) throws {
    try writeWave("piped.wav", rate: 48_000, channels: 1, [Int16](repeating: 99, count: 9_600))
    var file = try Data(contentsOf: URL(filePath: path("piped.wav")))
    for (offset, value) in [(4, length), (40, length - 36)] {
      file.replaceSubrange(
        offset..<offset + 4, with: withUnsafeBytes(of: value.littleEndian) { Data($0) })
    }
    try file.write(to: URL(filePath: path("piped.wav")))
    let rig = Rig(try WaveFileCapture(path: path("piped.wav"), pace: .asAsked), try NullPlayback())
    rig.capture.start()
    #expect(rig.run(5_000) { rig.captureEvents.contains(.ended) && rig.heard.count >= 9_600 })
  }

  @Test func whatIsNoSoundFileIsRefusedWithTheCure() throws {
    try Data("no sound".utf8).write(to: URL(filePath: path("text.wav")))
    for name in ["text.wav", "missing.wav"] {
      let error = #expect(throws: AudioFault.self) { try WaveFileCapture(path: path(name)) }
      #expect(error?.description.contains("sox in.wav -r 48000 -c 1 out.wav") == true)
      #expect(error?.description.contains(name) == true)
    }
    let error = #expect(throws: AudioFault.self) {
      try WaveFilePlayback(path: path("missing/out.wav"))
    }
    guard case .unwritableFile? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
