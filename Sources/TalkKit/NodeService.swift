import Glibc
import TalkAudio
import TalkCore
import TalkCrypto
import TalkNet
import TalkNode
import TalkStore

/// A node that runs: state, sockets, sound, discovery and the control socket around one `Node`.
///
/// Make it, `run` it on a thread of yours (it returns when the node stops), `stop` it from any
/// thread. `init` does everything that can be refused, so a failure is known before anything runs.
public final class NodeService: Sendable {
  private let options: NodeOptions
  private let directory: StateDirectory
  private let inputs: Mailbox<ShellInput>
  /// Lines for a person that arose at the start.
  public let notices: [String]

  /// Opens the state and takes its lock.
  public init(_ options: NodeOptions) throws(NodeServiceError) {
    self.options = options
    var notices: [String] = []
    do {
      try Crypto.start()
    } catch {
      throw .unavailable("libsodium does not start: reinstall the package libsodium23")
    }
    // A core dump would hold the secrets.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    do throws(StoreError) {
      let path: String
      if let state = options.state {
        path = state
      } else {
        path = try StateDirectory.defaultPath(environment: Environment.places)
      }
      directory = try StateDirectory(path: path)
    } catch {
      throw NodeServiceError(error)
    }
    // Now that the folder is known to be ours alone: the log may lie in it.
    try Log.configure(
      level: options.logLevel, file: options.logFile, takesStandardError: options.headless)
    if !Secret.canLockMemory {
      notices.append("secrets may reach the swap: raise the limit of locked memory (ulimit -l)")
    }
    self.notices = notices
    do {
      inputs = try Mailbox(limit: 1_024)
    } catch {
      throw .unavailable(error.description)
    }
  }

  /// Runs the node until it stops, and waits for that. Its loop has a thread of its own, before
  /// others where the system allows it: voice can't wait for a compiler.
  public func run() throws(NodeServiceError) {
    let outcome = Outcome()
    let (options, directory, inputs) = (options, directory, inputs)
    do throws(NetError) {
      let thread = try NodeThread(name: "talk-node", stackSize: 4 << 20, priority: .urgent) {
        do throws(NodeServiceError) {
          try Shell(options: options, directory: directory, inputs: inputs).run()
        } catch {
          outcome.fail(error)
        }
      }
      thread.join()
    } catch {
      throw .unavailable(error.description)
    }
    if let error = outcome.error { throw error }
  }

  /// How the loop ended, told from its thread.
  private final class Outcome: Sendable {
    private let lock = Lock()
    private nonisolated(unsafe) var failure: NodeServiceError?

    func fail(_ error: NodeServiceError) { lock.withLock { unsafe failure = error } }

    var error: NodeServiceError? { lock.withLock { unsafe failure } }
  }

  /// Stops the node; `run` returns once it has said goodbye.
  public func stop() { inputs.post(.stop) }
}
