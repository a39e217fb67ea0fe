import Glibc
import TalkCore
import TalkNet

/// What others ask of the provider's thread.
enum ProviderRequest: Sendable {
  case send([Push], @Sendable (Push, PushOutcome) -> Void)
  /// The test's clock jumped.
  case look
  case status(@Sendable (ProviderStatus) -> Void)
  case end
}

/// The provider's thread: carries out what its lanes decide, and tells them what happens.
///
/// It has a poll(2) loop of its own: TalkNet's loop watches for input alone, TLS needs output too;
/// and a handshake or a slow disk under the token store must not hold up voice.
final class ProviderWorker {
  private struct Callers {
    var reports: [(@Sendable (Push, PushOutcome) -> Void)?] = []
    var left: [Int] = []
    var free: [Int] = []
  }

  private let configuration: ProviderConfiguration
  private let requests: Mailbox<ProviderRequest>
  private let clock: any ProviderClock
  private let log: @Sendable (String) -> Void
  private let tls: TLSContext
  private let writer: RequestWriter
  private let resolver: Resolver
  private var mint: TokenMint
  private var keeper: ProviderTokenKeeper
  private var lanes: [PushLane] = []
  /// The header :authority of each lane, made once.
  private var authorities: [String] = []
  private var links: [LinkName: HTTP2Link] = [:]
  /// Connections that wait for their host's addresses.
  private var resolving: [LinkName] = []
  private var callers = Callers()
  private var polls: [pollfd] = []
  private var polled: [LinkName] = []
  private var touched: [LinkName] = []
  private var ended = false

  private struct LinkName: Hashable {
    let lane: Int
    let connection: Int
  }

  init(
    _ configuration: ProviderConfiguration, parts: ProviderParts,
    requests: Mailbox<ProviderRequest>
  ) {
    self.configuration = configuration
    (tls, mint, resolver, clock) = (parts.tls, parts.mint, parts.resolver, parts.clock)
    (self.requests, log) = (requests, parts.log)
    writer = RequestWriter(bundle: configuration.bundle)
    keeper = ProviderTokenKeeper(usesCertificate: parts.mint.key == nil)
    let environments = Push.Environment.allCases.filter { configuration.host($0) != nil }
    lanes = environments.map {
      PushLane(
        environment: $0, hasOther: environments.count > 1, streams: configuration.streams)
    }
    authorities = environments.map { configuration.host($0)?.description ?? "" }
  }

  /// Works until `end` is asked for.
  func run() {
    blockBrokenPipes()
    keeper.restore(mint.stored(log), at: clock.now(), unix: clock.unix())
    settle()
    while !ended {
      wait()
      let now = clock.now()
      while let request = requests.next() {
        take(request, at: now)
        if ended { return }
      }
      while let resolution = resolver.results.next() { dial(resolution, at: now) }
      for (index, name) in polled.enumerated() where polls[index + 2].revents != 0 {
        links[name]?.ready(at: now)
        touched.append(name)
      }
      for name in polled { links[name]?.tick(at: now) }
      for name in polled { takeEvents(of: name, at: now) }
      settle()
    }
  }

  /// OpenSSL writes with write(2): a peer that is gone must be an error, not the program's end.
  private func blockBrokenPipes() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  private func wait() {
    polls = [
      pollfd(fd: requests.fd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: resolver.results.fd, events: Int16(POLLIN), revents: 0),
    ]
    polled = links.keys.sorted { ($0.lane, $0.connection) < ($1.lane, $1.connection) }
    for name in polled {
      guard let link = links[name] else { continue }
      polls.append(pollfd(fd: link.socket, events: link.pollEvents, revents: 0))
    }
    var deadline: Instant?
    for lane in lanes { deadline = .earliest(deadline, lane.deadline) }
    // A name with several addresses is tried one after the other.
    var milliseconds: Int64 = links.values.contains { $0.state == .dialing } ? 500 : 60_000
    if let deadline {
      let left = (deadline - clock.now()).wholeNanoseconds
      milliseconds = min(milliseconds, max(0, left / 1_000_000 + 1))
    }
    _ = unsafe poll(&polls, nfds_t(polls.count), Int32(milliseconds))
  }

  // MARK: requests

  private func take(_ request: ProviderRequest, at now: Instant) {
    switch request {
    case .send(let pushes, let report):
      guard !pushes.isEmpty else { return }
      let caller = addCaller(report, count: pushes.count)
      for push in pushes { submit(push, caller, at: now) }
    case .look: break
    case .status(let answer): answer(status(at: now))
    case .end:
      ended = true
      for index in lanes.indices { lanes[index].end() }
      perform(at: now)
    }
  }

  private func submit(_ push: Push, _ caller: Int, at now: Instant) {
    if let lane = lanes.firstIndex(where: { $0.environment == push.environment }) {
      return lanes[lane].submit(push, caller: caller, at: now, keeper: keeper)
    }
    let text = "no \(push.environment.rawValue) host is configured"
    report(caller, push, .refused(reason: text, advice: .providerStopped(text)))
  }

  private func addCaller(
    _ report: @escaping @Sendable (Push, PushOutcome) -> Void, count: Int
  ) -> Int {
    if let caller = callers.free.popLast() {
      callers.reports[caller] = report
      callers.left[caller] = count
      return caller
    }
    callers.reports.append(report)
    callers.left.append(count)
    return callers.reports.count - 1
  }

  private func report(_ caller: Int, _ push: Push, _ outcome: PushOutcome) {
    callers.reports[caller]?(push, outcome)
    callers.left[caller] -= 1
    guard callers.left[caller] == 0 else { return }
    callers.reports[caller] = nil
    callers.free.append(caller)
  }

  private func status(at now: Instant) -> ProviderStatus {
    ProviderStatus(
      lanes: lanes.map {
        ProviderStatus.Lane(
          environment: $0.environment, condition: $0.condition(at: now), counters: $0.counters,
          waiting: $0.waiting)
      },
      tokensMinted: keeper.minted,
      tokenAge: keeper.current == nil ? nil : keeper.age(at: now))
  }

  // MARK: connections

  private func dial(_ resolution: Resolution, at now: Instant) {
    let names = resolving.filter {
      configuration.host(lanes[$0.lane].environment) == resolution.name
    }
    resolving.removeAll { names.contains($0) }
    for name in names {
      guard !resolution.endpoints.isEmpty else {
        let text = "\(resolution.name.host) was not found (getaddrinfo code \(resolution.code))"
        lanes[name.lane].lost(name.connection, reason: text, at: now)
        continue
      }
      let link = HTTP2Link(
        host: resolution.name, endpoints: resolution.endpoints, tls: tls, writer: writer)
      links[name] = link
      link.dial(at: now)
      takeEvents(of: name, at: now)
    }
  }

  private func takeEvents(of name: LinkName, at now: Instant) {
    guard let link = links[name], !link.events.isEmpty else { return }
    let events = link.events
    link.events.removeAll(keepingCapacity: true)
    for event in events { take(event, of: name, at: now) }
  }

  private func take(_ event: LinkEvent, of name: LinkName, at now: Instant) {
    let (lane, connection) = (name.lane, name.connection)
    switch event {
    case .opened: lanes[lane].opened(connection, at: now)
    case .allowed(let streams): lanes[lane].allowed(streams, on: connection)
    case .heard: lanes[lane].heard(on: connection, at: now)
    case .pong: lanes[lane].pong(on: connection, at: now)
    case .goaway(let reason): lanes[lane].goaway(connection, reason: reason, at: now)
    case .answered(let ticket, let answer):
      lanes[lane].answered(ticket, answer, at: now, unix: clock.unix(), keeper: &keeper)
    case .unprocessed(let ticket): lanes[lane].unprocessed(ticket, at: now)
    case .broken(let ticket, let code): lanes[lane].broken(ticket, code: code, at: now)
    case .lost(let reason):
      lanes[lane].lost(connection, reason: reason, at: now)
      links.removeValue(forKey: name)?.shut()
    }
  }

  // MARK: effects

  /// Lets the lanes act until nothing is left to do; what a flush brought up (a connection that
  /// broke) is acted on too, a few times at most, so that others get their turn.
  private func settle() {
    for _ in 0..<8 {
      let now = clock.now()
      for index in lanes.indices { lanes[index].due(at: now, keeper: keeper) }
      guard !touched.isEmpty || lanes.contains(where: { !$0.effects.isEmpty }) else { return }
      perform(at: now)
      let names = touched
      touched.removeAll(keepingCapacity: true)
      for name in names { links[name]?.flush() }
      for name in names { takeEvents(of: name, at: now) }
    }
    perform(at: clock.now())
  }

  private func perform(at now: Instant) {
    while let lane = lanes.firstIndex(where: { !$0.effects.isEmpty }) {
      let effects = lanes[lane].effects
      lanes[lane].effects = []
      for effect in effects { perform(effect, lane, at: now) }
    }
  }

  private func perform(_ effect: LaneEffect, _ lane: Int, at now: Instant) {
    func name(_ connection: Int) -> LinkName { LinkName(lane: lane, connection: connection) }
    switch effect {
    case .open(let connection): open(name(connection), at: now)
    case .send(let connection, let ticket): send(ticket, on: name(connection), at: now)
    case .cancel(let connection, let ticket):
      links[name(connection)]?.cancel(ticket)
      touched.append(name(connection))
    case .ping(let connection):
      links[name(connection)]?.ping()
      touched.append(name(connection))
    case .close(let connection):
      resolving.removeAll { $0 == name(connection) }
      links.removeValue(forKey: name(connection))?.shut()
    case .mint:
      mintToken(at: now)
      for index in lanes.indices { lanes[index].pump(at: now, keeper: keeper) }
    case .report(let caller, let push, let outcome): report(caller, push, outcome)
    case .note(let text): log(text)
    }
  }

  private func open(_ name: LinkName, at now: Instant) {
    guard let host = configuration.host(lanes[name.lane].environment) else { return }
    resolving.append(name)
    guard !resolver.resolve(host) else { return }
    resolving.removeAll { $0 == name }
    lanes[name.lane].lost(name.connection, reason: "too many names are looked up", at: now)
  }

  private func send(_ ticket: LaneTicket, on name: LinkName, at now: Instant) {
    guard let push = lanes[name.lane].push(ticket) else { return }
    let authority = authorities[name.lane]
    guard let link = links[name],
      link.send(push, ticket: ticket, bearer: keeper.current?.text, authority: authority)
    else {
      lanes[name.lane].unprocessed(ticket, at: now)
      // It takes nothing any more: HTTP/2 has no stream numbers left, or it is about to be lost.
      lanes[name.lane].goaway(name.connection, reason: "", at: now)
      return
    }
    if touched.last != name { touched.append(name) }
  }

  private func mintToken(at now: Instant) {
    guard keeper.mustMint(at: now) else { return }
    let unix = clock.unix()
    guard let (token, ours) = mint.make(unix: unix, replacing: keeper.current, log) else {
      return keeper.mintFailed(at: now)
    }
    keeper.take(token, ours: ours, at: now, unix: unix)
  }
}

/// Signs provider tokens and keeps them in the store.
struct TokenMint {
  let key: SigningKey?
  let store: any TokenStore

  /// The token of an earlier process, or of another gateway; a store that fails is said, and passed
  /// over.
  func stored(_ log: (String) -> Void) -> ProviderToken? {
    guard let key else { return nil }
    do { return try store.providerToken(for: key.name) } catch {
      log("the registry does not give the provider token: \(error)")
      return nil
    }
  }

  /// A new token, or the one that another gateway made first.
  func make(
    unix: UInt64, replacing: ProviderToken?, _ log: (String) -> Void
  ) -> (token: ProviderToken, ours: Bool)? {
    guard let key, let text = key.token(issuedAt: unix) else { return nil }
    let token = ProviderToken(issuedAt: unix, text: text)
    do {
      let stands = try store.offer(token, for: key.name, replacing: replacing?.issuedAt)
      return (stands, stands == token)
    } catch {
      // Push all the same: only a restart within 20 minutes would make one too many.
      log("the registry does not keep the provider token: \(error)")
      return (token, true)
    }
  }
}
