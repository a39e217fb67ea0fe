import Foundation
import Glibc

/// A real `talkaround` on a host of the lab, driven by its commands as a person would.
final class Node {
  let lab: Lab
  let host: String
  private let program: String
  private let state: String
  private let options: [String]
  private(set) var process: ChildProcess

  /// Starts the node and waits until it answers; `state` is the name of its folder.
  init(
    _ lab: Lab, _ host: String, state: String = "talkaround", options: [String] = []
  ) throws {
    self.lab = lab
    self.host = host
    self.state = "\(lab.home(host))/\(state)"
    self.options = options
    program = try Requirements.talkaround()
    process = try lab.start(
      host, Node.words(program, self.state, ["run", "--headless"] + options))
    try waitUntilItAnswers()
  }

  /// Starts it again after its end; its state is kept.
  func restart() throws {
    process = try lab.start(host, words(["run", "--headless"] + options))
    try waitUntilItAnswers()
  }

  private func waitUntilItAnswers() throws {
    try Lab.wait(seconds: 10, "the node on \(host) does not answer") {
      guard process.isRunning else {
        let output = try process.wait(seconds: 1)
        throw LabError("the node on \(host) ended with \(output.code): \(output.err)")
      }
      return try lab.run(host, words(["status", "--json"])).succeeded
    }
  }

  private static func words(
    _ program: String, _ state: String, _ command: [String]
  ) -> [String] {
    [program, "--state", state] + command
  }

  func words(_ command: [String]) -> [String] { Node.words(program, state, command) }

  /// Runs a command to its end; throws what it says when it fails.
  @discardableResult func run(_ command: String..., input: String? = nil) throws -> String {
    let output = try lab.run(host, words(command), input: input)
    guard output.succeeded else {
      let text = command.joined(separator: " ")
      throw LabError("\(host): talkaround \(text): \(output.code) \(output.err)")
    }
    return output.line
  }

  /// The key is down while this runs; `release` ends it.
  func hold() throws -> ChildProcess { try lab.start(host, words(["talk", "hold"])) }

  /// Tells events from now on.
  func watch() throws -> Watch {
    let watch = Watch(child: try lab.start(host, words(["watch"])))
    try Lab.wait(seconds: 5, "\(host): watch gives no snapshot") { !watch.events.isEmpty }
    return watch
  }

  func status() throws -> Status { try Status.parse(run("status", "--json")) }

  /// The floor of the channel that is talked on.
  func floor() throws -> Status.Floor {
    guard let channel = try status().channel else { throw LabError("\(host): no channel") }
    return channel.floor
  }

  func waitForFloor(_ state: String, seconds: Double = 2) throws {
    do {
      try Lab.wait(seconds: seconds, "\(host): the floor is not \(state)") {
        try floor().state == state
      }
    } catch let error as LabError {
      throw LabError("\(error), it is \(try floor())")
    }
  }

  /// Resident memory in KiB.
  func memory() throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process.target)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    guard let number = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw LabError("\(host): no memory figure: has the node ended?")
    }
    return number
  }
}

extension ChildProcess {
  /// Lets go of a key that `talk hold` holds.
  func release() throws {
    signal(SIGTERM)
    try wait(seconds: 5)
  }
}

/// Nodes that are members of one channel and hear one another.
struct Crew {
  let nodes: [Node]

  /// One node on each host; the first creates the channel and invites the others.
  init(
    _ lab: Lab, hosts: [String] = ["h1", "h2", "h3"], options: [String: [String]] = [:]
  ) throws {
    nodes = try hosts.map { try Node(lab, $0, options: options[$0] ?? []) }
    try nodes[0].run("channel", "create", "crew")
    let invite = try nodes[0].run("invite", "--max", "\(hosts.count - 1)")
    guard invite.hasPrefix("talk1") else { throw LabError("no invite: \(invite)") }
    for node in nodes.dropFirst() { try node.run("join", input: invite + "\n") }
    try waitUntilAllHearEachOther()
  }

  func waitUntilAllHearEachOther(seconds: Double = 15) throws {
    for node in nodes {
      try Lab.wait(seconds: seconds, "\(node.host) does not hear all of the crew") {
        guard let channel = try node.status().channel, channel.status == "ready" else {
          return false
        }
        let heard = channel.members.filter {
          $0.state == "present" && $0.hearsMe && $0.iHear
        }
        return heard.count >= nodes.count - 1
      }
    }
  }

  /// Everyone lets go and the floor is idle everywhere.
  func waitUntilIdle() throws {
    for node in nodes { try node.waitForFloor("idle", seconds: 5) }
  }
}
