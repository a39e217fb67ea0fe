package import TalkCore

/// What became of a name.
package struct Resolution: Hashable, Sendable {
  /// What was asked.
  package let name: HostAndPort
  /// Where it is, the best first; empty when it was not found.
  package let endpoints: [Endpoint]
  /// getaddrinfo(3)'s EAI_ code, for people; 0 when it was found.
  package let code: Int32
}

/// Looks up names on a thread of its own: DNS can take half a minute (architecture.md, "Threads").
package final class Resolver: Sendable {
  /// The most names that wait.
  package static let requestLimit = 64
  /// The most results that wait.
  package static let resultLimit = 128
  /// The most endpoints of one name.
  package static let endpointLimit = 16

  private enum Request: Sendable {
    case look(HostAndPort)
    case stop
  }

  private let requests: Mailbox<Request>
  /// Results, for the loop.
  package let results: Mailbox<Resolution>

  /// Starts the thread.
  package init() throws(NetError) {
    let requests = try Mailbox<Request>(limit: Self.requestLimit)
    let results = try Mailbox<Resolution>(limit: Self.resultLimit)
    (self.requests, self.results) = (requests, results)
    let thread = try NodeThread(name: "talk-resolver") { serve(requests, results) }
    // It may hang in getaddrinfo(3) when the program ends.
    thread.detach()

    @Sendable func serve(_ requests: Mailbox<Request>, _ results: Mailbox<Resolution>) {
      while true {
        guard let request = requests.next() else {
          requests.wait()
          continue
        }
        guard case .look(let name) = request else { return }
        let (endpoints, code) = name.resolve(numeric: false)
        results.post(Resolution(name: name, endpoints: endpoints, code: code))
      }
    }
  }

  deinit { requests.post(.stop) }

  /// Asks for a name; the answer comes by `results`. An address is answered at once, so that it
  /// never waits behind a slow name. False when too many names wait.
  @discardableResult
  package func resolve(_ name: HostAndPort) -> Bool {
    if let endpoint = name.literal {
      return results.post(Resolution(name: name, endpoints: [endpoint], code: 0))
    }
    return requests.post(.look(name))
  }
}
