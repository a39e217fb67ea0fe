/// `talkaround manual`: the manual page.
enum ManualCommand {
  static let command = Command(
    "manual", summary: "print the manual page, for man(1)",
    notes: ["The Debian package installs it. By hand: talkaround manual | man -l -"]
  ) { _, context throws(CommandError) in
    context.print(ManualPage(commands: CommandTable.commands).text)
    return ExitCode.ok
  }
}
