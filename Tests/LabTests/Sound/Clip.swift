import Foundation

/// Recorded or spoken sound: mono, 48 kHz, with the time of its first sample.
struct Clip: Sendable {
  static let rate = 48_000.0

  var samples: [Int16]
  /// When sample 0 was spoken or heard, in seconds of CLOCK_MONOTONIC; 0 where no clock is known.
  var start: Double = 0

  var duration: Double { Double(samples.count) / Clip.rate }

  /// A WAV file with the plain header of 44 bytes, as `Tools/lab speech` writes it.
  static func wav(_ path: String, start: Double = 0) throws -> Clip {
    Clip(samples: try read(path, skipping: 44), start: start)
  }

  /// Raw 16-bit samples, as `Tools/lab rec` writes them beside a file `….t` with the time.
  static func recording(_ path: String) throws -> Clip {
    let words = try String(contentsOfFile: path + ".t", encoding: .utf8).split(separator: " ")
    guard let first = words.first, let start = Double(first) else {
      throw LabError("\(path).t holds no time")
    }
    return Clip(samples: try read(path, skipping: 0), start: start)
  }

  /// What was heard or spoken from one time to another; cut at the clip's ends.
  func between(_ from: Double, _ to: Double) -> Clip {
    let first = min(max(0, Int((from - start) * Clip.rate)), samples.count)
    let last = min(max(first, Int((to - start) * Clip.rate)), samples.count)
    return Clip(samples: Array(samples[first..<last]), start: start + Double(first) / Clip.rate)
  }

  private static func read(_ path: String, skipping header: Int) throws -> [Int16] {
    let bytes = try Data(contentsOf: URL(filePath: path)).dropFirst(header)
    return bytes.withUnsafeBytes { raw in
      (0..<raw.count / 2).map {
        Int16(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self))
      }
    }
  }
}
