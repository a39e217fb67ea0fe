import CSndfile
import Glibc

/// A sound file that is read, as mono samples at 48 kHz, whatever it holds (libsndfile).
@safe struct SoundFileReader: ~Copyable {
  private static let blockFrames = 4_096
  private static let channelLimit = 32
  private static let rates = 4_000...384_000

  private let file: OpaquePointer
  private let channels: Int
  private var resampler: Resampler
  private var isDone = false

  /// Opens the file at `path`, or standard input for "-" (sf_open, sf_open_fd).
  init(path: String) throws(AudioFault) {
    // Opening a pipe would wait for a writer, on the loop that asks.
    guard path == "-" || Self.isRegular(path) else {
      throw .unreadableFile(path: path, reason: "no such file, or not a regular one")
    }
    if path != "-" { try Self.checkWhole(path) }
    var info = SF_INFO()
    let opened =
      unsafe path == "-"
      ? sf_open_fd(STDIN_FILENO, Int32(SFM_READ), &info, 0)
      : sf_open(path, Int32(SFM_READ), &info)
    guard let opened = unsafe opened else {
      throw .unreadableFile(path: path, reason: unsafe String(cString: sf_strerror(nil)))
    }
    guard (1...Self.channelLimit).contains(Int(info.channels)),
      Self.rates.contains(Int(info.samplerate))
    else {
      unsafe sf_close(opened)
      throw .unreadableFile(
        path: path, reason: "\(info.channels) channels at \(info.samplerate) Hz")
    }
    guard info.frames > 0 || path == "-" else {
      unsafe sf_close(opened)
      throw .emptyFile(path: path)
    }
    unsafe file = opened
    channels = Int(info.channels)
    resampler = Resampler(from: Int(info.samplerate))
  }

  deinit { unsafe sf_close(file) }

  private static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Throws for an empty file, and for a WAV that has less than its RIFF header promises, which
  /// libsndfile would read without a word. A pad byte may be missing; a length of 2 GiB or
  /// more stands for "not known yet", as programs write it that send a WAV down a pipe.
  private static func checkWhole(_ path: String) throws(AudioFault) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return }
    let size = Int(status.st_size)
    guard size > 0 else { throw .emptyFile(path: path) }
    var head = [UInt8](repeating: 0, count: 8)
    let got = unsafe head.withUnsafeMutableBytes {
      unsafe Glibc.read(descriptor, $0.baseAddress, 8)
    }
    guard got == 8, head.starts(with: "RIFF".utf8) else { return }
    let promised = head[4...].reversed().reduce(0) { $0 << 8 | Int($1) } + 8
    guard promised <= size + 1 || promised >= 0x7fff_0000 else {
      throw .cutShort(path: path, bytes: size, of: promised)
    }
  }

  /// Appends the next samples to `output`, channels averaged; false at the end of the file, or
  /// where it cannot be read (sf_readf_float).
  mutating func read(into output: inout [Int16]) -> Bool {
    guard !isDone else { return false }
    var block = [Float](repeating: 0, count: Self.blockFrames * channels)
    let got = Int(unsafe sf_readf_float(file, &block, sf_count_t(Self.blockFrames)))
    guard got > 0 else {
      isDone = true
      resampler.flush(to: &output)
      return false
    }
    let mono = (0..<got).map { frame in
      block[frame * channels..<(frame + 1) * channels].reduce(0, +) / Float(channels)
    }
    resampler.append(mono, to: &output)
    return true
  }
}

/// A WAV file that is written: mono, 48 kHz, 16 bits; whole at every moment (libsndfile).
@safe package final class SoundFileWriter: Sendable {
  private nonisolated(unsafe) let file: OpaquePointer

  /// Makes the file at `path`, or empties it (sf_open).
  package init(path: String) throws(AudioFault) {
    var info = SF_INFO()
    info.samplerate = Int32(AudioLimits.sampleRate)
    info.channels = 1
    info.format = Int32(SF_FORMAT_WAV) | Int32(SF_FORMAT_PCM_16)
    guard let opened = unsafe sf_open(path, Int32(SFM_WRITE), &info) else {
      throw .unwritableFile(path: path, reason: unsafe String(cString: sf_strerror(nil)))
    }
    unsafe file = opened
    _ = unsafe sf_command(opened, Int32(SFC_SET_UPDATE_HEADER_AUTO), nil, Int32(SF_TRUE))
  }

  deinit { unsafe sf_close(file) }

  /// Appends all of `samples`; `unwritableFile` with `path` when the file cannot take them.
  package func writeAll(_ samples: [Int16], path: String) throws(AudioFault) {
    guard unsafe samples.withUnsafeBufferPointer({ unsafe write($0) }) else {
      throw .unwritableFile(path: path, reason: unsafe String(cString: sf_strerror(file)))
    }
  }

  /// Appends `samples`; false when the file cannot take them (sf_write_short).
  func write(_ samples: UnsafeBufferPointer<Int16>) -> Bool {
    guard let start = samples.baseAddress else { return true }
    return unsafe sf_write_short(file, start, sf_count_t(samples.count)) == samples.count
  }
}
