import Foundation

/// Real speech: prompts that a person spoke, from Debian's asterisk-core-sounds-en-g722.
enum Speech {
  /// Where made files lie: the same words need not be made twice.
  private static let folder = FileManager.default.temporaryDirectory
    .appending(path: "talkaround-speech-\(geteuid())")

  /// A WAV of at least `seconds`, with pauses under 200 ms; another seed speaks other words.
  static func file(seconds: Int, seed: Int) throws -> String {
    let path = folder.appending(path: "\(seconds)-\(seed).wav").path
    guard !FileManager.default.fileExists(atPath: path) else { return path }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let made = "\(path).\(getpid()).\(UInt32.random(in: 0...UInt32.max)).wav"
    try Lab.command(["speech", made, "\(seconds)", "\(seed)"], environment: [:], seconds: 60)
    _ = rename(made, path)
    return path
  }

  /// The same as samples.
  static func make(seconds: Int, seed: Int) throws -> Clip {
    try Clip.wav(file(seconds: seconds, seed: seed))
  }
}
