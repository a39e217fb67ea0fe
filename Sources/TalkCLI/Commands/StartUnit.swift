import Glibc
import TalkKit

/// The systemd user unit `talkaround.service`: the packaged one, or one that `start --at-login`
/// wrote. (A system unit can't reach a person's sound server.)
struct StartUnit {
  /// Its name.
  static let name = "talkaround.service"
  /// The first line of every file that we wrote, so that we remove no other.
  static let mark =
    "# Written by 'talkaround start --at-login'; 'talkaround stop --at-login' removes it."

  private let context: Context
  /// Where a person's own units are (systemd.unit(5)); nil without a home.
  private let folder: String?

  init(_ context: Context) {
    self.context = context
    let environment = context.environment
    if let config = environment["XDG_CONFIG_HOME"], config.hasPrefix("/") {
      folder = "\(config)/systemd/user"
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      folder = "\(home)/.config/systemd/user"
    } else {
      folder = nil
    }
  }

  private var ownUnit: String? { folder.map { "\($0)/\(Self.name)" } }
  private var ownSettings: String? { folder.map { "\($0)/\(Self.name).d/options.conf" } }

  /// True when the unit is there, whoever put it there.
  var isInstalled: Bool {
    isPackaged || ownUnit.map { unsafe access($0, R_OK) == 0 } ?? false
  }

  private var isPackaged: Bool {
    ["/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"].contains {
      unsafe access("\($0)/\(Self.name)", R_OK) == 0
    }
  }

  /// True when the person's systemd manager is there and answers.
  func managerAnswers() -> Bool {
    let asked = ChildProgram.run(["systemctl", "--user", "show-environment"], milliseconds: 3_000)
    // In a chroot systemctl says that it ignores the command, and ends with 0.
    return asked?.code == 0 && asked?.output.hasPrefix("Running in chroot") == false
  }

  /// True while the unit runs, or is about to.
  var isActive: Bool {
    guard
      let outcome = ChildProgram.run(["systemctl", "--user", "is-active", Self.name])
    else { return false }
    return outcome.code == 0 || outcome.output.hasPrefix("activating")
  }

  /// The last line that the unit logged.
  var lastLine: String {
    let words = [
      "journalctl", "--user", "--unit", Self.name, "--lines=1", "--output=cat", "--no-pager",
    ]
    let said = ChildProgram.run(words).map { Array($0.output.utf8) } ?? []
    return StartNode.lastLine(of: said) ?? "its log says nothing"
  }

  /// Runs `systemctl --user`; throws what it says when it fails.
  func systemctl(_ words: String...) throws(CommandError) {
    let command = ["systemctl", "--user"] + words
    guard let outcome = ChildProgram.run(command, milliseconds: 30_000) else {
      throw CommandError(
        message: "\(command.joined(separator: " ")): does not answer; look at the user's systemd",
        exitCode: ExitCode.unavailable)
    }
    guard outcome.code == 0 else {
      let why = outcome.output.split(whereSeparator: \.isNewline).last.map(String.init)
      throw CommandError(
        message: "\(command.joined(separator: " ")): \(why ?? "ended with \(outcome.code)")",
        exitCode: ExitCode.unavailable)
    }
  }

  // MARK: At login

  /// From now on the node starts at login, with these words as its command line. `hasOptions` says
  /// that they are more than a packaged unit has.
  func enable(_ words: [String], hasOptions: Bool) throws(CommandError) {
    try requireManager()
    let start = "ExecStart=" + words.map(Self.quoted).joined(separator: " ")
    if isPackaged {
      if hasOptions {
        try write("\(Self.mark)\n[Service]\nExecStart=\n\(start)\n", to: ownSettings)
      } else {
        remove(ownSettings)
      }
    } else {
      try write(Self.unit(start), to: ownUnit)
    }
    try systemctl("daemon-reload")
    try systemctl("enable", Self.name)
  }

  /// From now on the node does not start at login; one that the unit runs is ended.
  func disable() throws(CommandError) {
    try requireManager()
    guard isInstalled else { return }
    try systemctl("disable", "--now", Self.name)
    remove(ownUnit)
    remove(ownSettings)
    try systemctl("daemon-reload")
  }

  private func requireManager() throws(CommandError) {
    guard !managerAnswers() else { return }
    throw CommandError(
      message: "no systemd user manager answers here, and that is what starts programs at login; "
        + "log in as this user on the console or by ssh (not by su or sudo), or use "
        + "'talkaround start' without --at-login",
      exitCode: ExitCode.unavailable)
  }

  /// The user whose units run only while she is logged in, if that is so here; nil where lingering
  /// is on, or unknown.
  var userWithoutLinger: String? {
    guard let user = context.environment["USER"], !user.isEmpty,
      let outcome = ChildProgram.run(
        ["loginctl", "show-user", user, "--property=Linger", "--value"], milliseconds: 3_000),
      outcome.code == 0, outcome.output.hasPrefix("no")
    else { return nil }
    return user
  }

  private static func unit(_ start: String) -> String {
    """
    \(mark)
    [Unit]
    Description=Talkaround, a push-to-talk intercom without a server
    After=pulseaudio.service pipewire-pulse.service

    [Service]
    \(start)
    Restart=on-failure
    RestartSec=2
    RestartPreventExitStatus=64 75 77 78

    [Install]
    WantedBy=default.target

    """
  }

  /// A word as systemd.service(5) reads it back: in quotes, with its specifiers and variables off.
  static func quoted(_ word: String) -> String {
    let text = word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      .replacing("%", with: "%%").replacing("$", with: "$$")
    return "\"\(text)\""
  }

  // MARK: Files

  /// Writes a file of ours; one that is not ours is left alone and named.
  private func write(_ text: String, to path: String?) throws(CommandError) {
    guard let path else {
      throw CommandError(
        message: "HOME is not set; set it, or start without --at-login", exitCode: ExitCode.state)
    }
    guard isOurs(path) else {
      throw CommandError(
        message: "\(path): is not ours; move it away, or enable it with 'systemctl --user enable'",
        exitCode: ExitCode.state)
    }
    var made = ""
    for part in path.split(separator: "/").dropLast() {
      made += "/\(part)"
      _ = unsafe mkdir(made, 0o700)
    }
    let temporary = "\(path).new"
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
    let number = unsafe open(temporary, flags, mode_t(0o644))
    let isWritten = number >= 0 && Context.write(Array(text.utf8), to: number)
    let reason = errno
    if number >= 0 { close(number) }
    guard isWritten, unsafe rename(temporary, path) == 0 else {
      throw CommandError(
        message: "\(path): \(unsafe String(cString: strerror(reason))); check the folder's mode",
        exitCode: ExitCode.noPermission)
    }
  }

  private func isOurs(_ path: String) -> Bool {
    let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { return errno == ENOENT }
    defer { close(number) }
    var bytes: [UInt8] = []
    _ = ChildProgram.read(number, &bytes)
    return bytes.starts(with: Self.mark.utf8)
  }

  private func remove(_ path: String?) {
    guard let path, isOurs(path) else { return }
    unsafe unlink(path)
  }
}
