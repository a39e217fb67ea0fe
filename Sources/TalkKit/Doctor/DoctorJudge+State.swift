import TalkCore

/// Program, clock, files and the node itself.
extension DoctorJudge {
  /// The least free space without a warning: a state directory has some hundred KiB, its logs more.
  private static let scarceBytes: UInt64 = 20 << 20
  /// The least with which every file can be written anew.
  private static let leastBytes: UInt64 = 1 << 20
  /// A file from further in the future than this says that the clock is wrong: a day, for zones.
  private static let clockSlack = 86_400

  var version: DoctorOpinion {
    let program = facts.program
    let found = "talkaround \(program.version) on \(program.system)"
    let facts = ["version": program.version, "system": program.system]
    if let running = self.facts.node.status?.node.version, running != program.version {
      return .warning(
        "\(found); the running node is \(Self.shown(running))",
        cure: "talkaround stop, then start it again", facts)
    }
    return .ok(found, facts)
  }

  var clock: DoctorOpinion {
    let clock = facts.clock
    let ahead = clock.newestFile - clock.now
    guard ahead > Self.clockSlack else { return .ok("not before the newest file of ours") }
    let cure = "sudo timedatectl set-ntp true, or set it by hand; talking works all the same"
    return .warning(
      "the clock is \(ahead / 86_400) days or more behind: \(clock.newestPath) is newer",
      cure: cure, ["behind_s": "\(ahead)"])
  }

  var state: DoctorOpinion {
    let state = facts.state
    guard !state.path.isEmpty else {
      return .failed(
        "neither XDG_DATA_HOME nor HOME is set", cure: "name a directory with --state DIR")
    }
    let serious = state.faults.filter { !$0.isCache }
    guard let first = serious.first ?? state.faults.first else {
      guard state.isThere else {
        return .ok("\(state.path): not there yet, the first start makes it")
      }
      let count = facts.channels.count
      return .ok(
        "\(state.path): whole, \(count) \(count == 1 ? "channel" : "channels")",
        ["path": state.path, "channels": "\(count)"])
    }
    let more = state.faults.count - 1
    let found = first.what + (more > 0 ? "; and \(more) more" : "")
    let details = Dictionary(
      uniqueKeysWithValues: state.faults.enumerated().map { ("fault_\($0 + 1)", $1.what) })
    return serious.isEmpty
      ? .warning(found, cure: first.cure, details) : .failed(found, cure: first.cure, details)
  }

  var disk: DoctorOpinion {
    let state = facts.state
    guard !state.path.isEmpty else { return .skipped("there is no state directory") }
    let elsewhere = "or use another --state DIR"
    if state.isReadOnly {
      return .failed(
        "\(state.path) is on a read-only file system", cure: "mount it writable, \(elsewhere)")
    }
    if state.hasNoFilesLeft {
      return .failed(
        "the disk takes no more files at \(state.path)",
        cure: "remove some files there (df -i), \(elsewhere)")
    }
    if let free = state.freeBytes, free < Self.leastBytes {
      return .failed(
        "the disk is full at \(state.path): \(free / 1_024) KiB free",
        cure: "free some space there (df -h), \(elsewhere)", ["free_bytes": "\(free)"])
    }
    guard state.isWritable else {
      return .failed(
        "no permission to write \(state.path)",
        cure: "check the owner and mode of the folder, \(elsewhere)")
    }
    guard let free = state.freeBytes else { return .ok("writable") }
    let text = "\(free >> 20) MiB free"
    guard free >= Self.scarceBytes else {
      return .warning(
        "only \(text) at \(state.path)", cure: "free some space there (df -h)",
        ["free_bytes": "\(free)"])
    }
    return .ok(text, ["free_bytes": "\(free)"])
  }

  var identity: DoctorOpinion {
    let state = facts.state
    guard let name = facts.node.status?.node.name ?? state.nickname else {
      return .ok("none yet: the first start makes it")
    }
    if state.isElsewhere {
      return .warning(
        "it was made on another machine: two nodes of one identity mute each other",
        cure: "if both machines run, start one of them with another --state DIR")
    }
    let rename = "talkaround run --name NICK"
    if let clean = SafeText.name(name), clean == name {
      // What a node calls itself where neither user nor host has a name of its own.
      let odd = ["someone", "localhost"]
      guard !odd.contains(name.lowercased()) else {
        return .warning(
          "you are \"\(name)\", which says nothing to others", cure: rename, ["name": name])
      }
      return .ok("you are \(Self.shown(name))", ["name": Self.shown(name)])
    }
    return .warning(
      "your name \"\(Self.shown(name))\" has hidden characters or blanks at its ends", cure: rename,
      ["name": Self.shown(name)])
  }

  var node: DoctorOpinion {
    let holder = facts.state.lockHolder
    let who = holder.map { " (process \($0))" } ?? ""
    switch facts.node {
    case .answers(let status):
      return .ok(
        "runs\(who), UDP port \(status.node.port)",
        ["port": "\(status.node.port)", "process": holder.map { "\($0)" } ?? ""])
    case .silent:
      let kill = holder.map { "kill \($0)" } ?? "end it with its terminal"
      return .failed(
        "a node runs\(who) and does not answer",
        cure: "\(kill) (kill -9 if need be); start it again")
    case .other:
      return .failed(
        "the running node\(who) is of another version", cure: "talkaround stop, then start it again"
      )
    case .unusable(let what, let cure): return .failed(what, cure: cure)
    case .none:
      guard let holder else { return .ok("none runs; 'talkaround run' starts one") }
      return .failed(
        "process \(holder) uses the state directory and has no control socket where this command "
          + "looks",
        cure: "run the command as that node was started (same --state, same "
          + "XDG_RUNTIME_DIR), or end it with: kill \(holder)")
    }
  }
}
