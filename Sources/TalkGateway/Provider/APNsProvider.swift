import TalkCore
import TalkNet

/// Sends pushes to Apple: HTTP/2 over TLS on a thread of its own (see <doc:Provider>).
package final class APNsProvider: PushSender {
  private let requests: Mailbox<ProviderRequest>
  private let thread: NodeThread

  /// Checks the configuration, reads key and certificates, starts the thread, which dials at once,
  /// so that the first push needs no handshake.
  ///
  /// `log` gets a line for each new kind of trouble, on the provider's thread.
  package init(
    _ configuration: ProviderConfiguration, store: any TokenStore,
    clock: any ProviderClock = SystemClock(), log: @escaping @Sendable (String) -> Void
  ) throws(ProviderError) {
    try configuration.check()
    // Read here, where an error has somebody to be told; read again on the thread that uses them.
    _ = try ProviderParts(configuration, store: store, clock: clock, log: log)
    do throws(NetError) {
      let requests = try Mailbox<ProviderRequest>(limit: ProviderLimits.batches)
      self.requests = requests
      thread = try NodeThread(name: "talk-push") {
        do throws(ProviderError) {
          let parts = try ProviderParts(configuration, store: store, clock: clock, log: log)
          ProviderWorker(configuration, parts: parts, requests: requests).run()
        } catch { log("no pushes are sent: \(error)") }
      }
    } catch { throw .system("\(error)") }
  }

  /// See `PushSender`. More batches than `ProviderLimits.batches` at a time are refused.
  package func send(
    _ pushes: [Push], report: @escaping @Sendable (Push, PushOutcome) -> Void
  ) {
    guard !requests.post(.send(pushes, report)) else { return }
    for push in pushes {
      report(push, .refused(reason: "too many pushes wait", advice: .backOff(.seconds(1))))
    }
  }

  /// Hands over how things are, on the provider's thread; false when too much waits for it.
  @discardableResult
  package func status(_ answer: @escaping @Sendable (ProviderStatus) -> Void) -> Bool {
    requests.post(.status(answer))
  }

  /// Looks at the clock anew: for clocks that jump.
  package func look() { requests.post(.look) }

  /// Ends the connections and the thread, and waits for it. Pushes without an answer are reported
  /// as expired. Call it once; nothing is sent after it.
  package func end() {
    requests.post(.end)
    thread.join()
  }
}

/// What the thread works with.
struct ProviderParts {
  let tls: TLSContext
  let mint: TokenMint
  let resolver: Resolver
  let clock: any ProviderClock
  let log: @Sendable (String) -> Void

  init(
    _ configuration: ProviderConfiguration, store: any TokenStore, clock: any ProviderClock,
    log: @escaping @Sendable (String) -> Void
  ) throws(ProviderError) {
    tls = try TLSContext(configuration)
    var key: SigningKey?
    if case .key(let file, let keyID, let teamID) = configuration.credential {
      key = try SigningKey(file: file, keyID: keyID, teamID: teamID)
    }
    mint = TokenMint(key: key, store: store)
    do throws(NetError) { resolver = try Resolver() } catch { throw .system("\(error)") }
    (self.clock, self.log) = (clock, log)
  }
}

/// How the provider is, for status, metrics and doctor.
package struct ProviderStatus: Hashable, Sendable {
  /// One environment.
  package struct Lane: Hashable, Sendable {
    /// Which one.
    package let environment: Push.Environment
    /// How it is.
    package let condition: LaneCondition
    /// What has happened.
    package let counters: LaneCounters
    /// Pushes that wait to be sent.
    package let waiting: Int
  }

  /// The environments that have a host.
  package let lanes: [Lane]
  /// Provider tokens made by this process.
  package let tokensMinted: Int
  /// How old the provider token is; nil without one.
  package let tokenAge: Duration?
}
