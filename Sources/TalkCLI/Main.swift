import Glibc
import TalkKit

/// The command `talkaround`.
@main
struct Main {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    // Blocked signals outlive exec(3): a parent's must not keep us from being ended.
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigprocmask(SIG_SETMASK, &none, nil)
    let context = Context(
      environment: Context.processEnvironment(), input: STDIN_FILENO, output: STDOUT_FILENO,
      error: STDERR_FILENO, makeNode: makeNode)
    exit(CommandTable.run(Array(CommandLine.arguments.dropFirst()), in: context))
  }

  /// Makes the node that `talkaround run` runs.
  private static let makeNode: Context.NodeFactory = { options throws(NodeServiceError) in
    let service = try NodeService(options)
    for notice in service.notices { tell(notice) }
    return service
  }

  private static func tell(_ notice: String) {
    Context.write(Array("talkaround: \(notice)\n".utf8), to: STDERR_FILENO)
  }
}

extension NodeService: RunnableNode {}
