import Glibc
package import TalkNet

/// Runs queries of the registry on a thread of its own, in order, so that a loop never waits for a
/// disk. What a query has to say it posts to a mailbox of the loop's.
package final class RegistryWorker: Sendable {
  /// The most queries that wait; a loop that meets the limit refuses the phone that asked.
  package static let queryLimit = 4_096

  private enum Job: Sendable {
    case query(@Sendable (any PhoneRegistry) -> Void)
    case stop
  }

  private let jobs: Mailbox<Job>
  private let thread: NodeThread

  /// Starts the thread.
  package init(registry: any PhoneRegistry) throws(NetError) {
    let jobs = try Mailbox<Job>(limit: Self.queryLimit)
    self.jobs = jobs
    thread = try NodeThread(name: "talk-registry") {
      while true {
        guard let job = jobs.next() else {
          jobs.wait()
          continue
        }
        guard case .query(let body) = job else { return }
        body(registry)
      }
    }
  }

  /// Queues a query, from any thread; it must handle the registry's errors. False when too many
  /// wait.
  @discardableResult
  package func submit(_ query: @escaping @Sendable (any PhoneRegistry) -> Void) -> Bool {
    jobs.post(.query(query))
  }

  /// Finishes what was queued and ends the thread. Call it once, after the last `submit`.
  package func close() {
    // A full mailbox empties as the thread works.
    while !jobs.post(.stop) { usleep(1_000) }
    thread.join()
  }
}
