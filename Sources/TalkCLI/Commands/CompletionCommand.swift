import TalkKit

/// `talkaround completion`: what a shell completes, made from the table of commands.
enum CompletionCommand {
  static let shells = ["bash", "zsh", "fish"]

  static let command = Command(
    "completion", .one("SHELL"), summary: "print the completion script for bash, zsh or fish",
    notes: [
      "The Debian package installs all three. By hand: source <(talkaround completion bash)"
    ]
  ) { invocation, context throws(CommandError) in
    let shell = invocation.argument ?? ""
    let grammar = CompletionGrammar(commands: CommandTable.commands)
    switch shell {
    case "bash": context.print(grammar.bash)
    case "zsh": context.print(grammar.zsh)
    case "fish": context.print(grammar.fish)
    default:
      let hint = NearestName.hint(shell, among: shells)
      throw .usage("no completion for '\(shell)'; write bash, zsh or fish\(hint)")
    }
    return ExitCode.ok
  }
}
