import Foundation
import Glibc

/// What tests of bad days do to hosts and nodes.
extension Lab {
  /// Runs a program on the host; throws what it says when it fails.
  @discardableResult func sh(_ host: String, _ script: String) throws -> String {
    let output = try run(host, ["/bin/bash", "-c", script])
    guard output.succeeded else { throw LabError("\(host): \(script): \(output.err)") }
    return output.line
  }

  /// Loads a module into the host's sound server; its number.
  @discardableResult func load(_ host: String, _ module: String) throws -> String {
    try sh(host, "pactl load-module \(module)")
  }

  /// Unloads what has this number, or every module of this name.
  func unload(_ host: String, _ module: String) throws {
    try sh(host, "pactl unload-module \(module)")
  }

  /// A second microphone, which hears a tone of 440 Hz, as the default one. (A sine source would
  /// hand out two seconds at a time, whatever its readers ask for.)
  func plugInTone(_ host: String) throws -> String {
    if try !sh(host, "pactl list short sinks").contains("mouth") {
      try load(host, "module-null-sink sink_name=mouth rate=48000 channels=1 norewinds=1")
      try load(host, "module-sine sink=mouth frequency=440")
    }
    let module = try load(
      host, "module-remap-source source_name=tone master=mouth.monitor channels=1")
    try sh(host, "pactl set-default-source tone")
    return module
  }

  /// A second loudspeaker: a headset.
  func plugInHeadset(_ host: String) throws -> String {
    let module = try load(
      host, "module-null-sink sink_name=headset rate=48000 channels=2 norewinds=1")
    try sh(host, "pactl set-default-sink headset")
    return module
  }
}

extension Node {
  /// Runs a command; what it says and its exit code.
  func attempt(_ command: String..., input: String? = nil) throws -> ChildProcess.Output {
    try lab.run(host, words(command), input: input)
  }

  /// The lines that the node has written to its log since it started.
  var log: [Substring] { process.complaints.split(separator: "\n") }

  /// How long `body` says until it holds, in seconds.
  static func time(
    _ what: @autoclosure () -> String, within seconds: Double, _ body: () throws -> Bool
  ) throws -> Double {
    let began = Lab.now()
    try Lab.wait(seconds: seconds, what(), until: body)
    return Lab.now() - began
  }

  /// Who is heard and hears us on the channel that is talked on.
  func present() throws -> Set<String> {
    Set(
      try status().channel?.members
        .filter { $0.state == "present" && $0.hearsMe && $0.iHear }.map(\.name) ?? [])
  }
}

extension Clip {
  /// When sound begins that lasts for 40 ms, from `time` on; nil when none does.
  func onset(after time: Double) -> Double? {
    let hop = 480
    var loud = 0
    for block in stride(from: 0, to: samples.count - hop, by: hop) {
      let at = start + Double(block) / Clip.rate
      guard at >= time else { continue }
      let energy = samples[block..<block + hop].reduce(0.0) { $0 + Double($1) * Double($1) }
      loud = (energy / Double(hop)).squareRoot() > 500 ? loud + 1 : 0
      if loud == 4 { return at - 3 * Double(hop) / Clip.rate }
    }
    return nil
  }
}
