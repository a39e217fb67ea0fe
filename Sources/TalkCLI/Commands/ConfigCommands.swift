import TalkKit

/// `talkaround config …`: checks profiles, shows what a node would use, and every key.
enum ConfigCommands {
  static let commands = [check, show, reference]

  private static let check = Command(
    "config check", .optional("FILE|NAME"),
    summary: "check a profile: every mistake with file, line and key",
    notes: [
      "A name with a slash or with .json5 at its end is a file. Without one, the profile that",
      "--profile names is checked, or lan-intercom. Ends with 78 when something is wrong.",
    ]
  ) { invocation, context throws(CommandError) in
    let wanted = invocation.argument ?? invocation.value("--profile")
    do throws(ProfileProblems) {
      let profile = try context.profiles.load(wanted)
      context.print("\(DisplayText.line(profile.file)): ok")
      return ExitCode.ok
    } catch {
      for problem in error.all.dropLast() {
        context.tell("talkaround: \(DisplayText.line(problem.description))")
      }
      throw CommandError(message: "\(error.all[error.all.count - 1])", exitCode: ExitCode.state)
    }
  }

  private static let show = Command(
    "config show", options: RunOptions.all + [Option("--headless", help: "as 'run' has it")],
    summary: "show what a node would use, and where each value comes from",
    notes: ["Takes the options of 'run', to show what they change."]
  ) { invocation, context throws(CommandError) in
    let settings = try RunOptions(invocation, context)
    let rows = ProfileKey.all.map { key in
      (
        "\(key.name): \(key.value(in: settings.options).written)",
        DisplayText.line(settings.source(of: key))
      )
    }
    let width = min(48, rows.map(\.0.count).max() ?? 0)
    for (setting, source) in rows {
      let gap = String(repeating: " ", count: max(0, width - setting.count) + 2)
      context.print("\(setting)\(gap)\(source)")
    }
    context.tell("Profiles there are: \(context.profiles.names.joined(separator: ", "))")
    return ExitCode.ok
  }

  private static let reference = Command(
    "config reference", summary: "print what every key of a profile means, as Markdown"
  ) { _, context throws(CommandError) in
    context.put(Array(ProfileReference.article.utf8))
    return ExitCode.ok
  }
}
