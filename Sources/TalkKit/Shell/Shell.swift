import Glibc
import TalkCore
import TalkCrypto
import TalkDiscovery
import TalkMesh
import TalkNet
import TalkNode
import TalkStore
import TalkVoice

/// Drives one node with the edges, on one thread (architecture.md, "The loop contract").
///
/// Every input goes through `input`: it sets the step's time, refills its entropy, lets the node
/// work, and then performs what the step recorded, in order. Where things are: sound in `+Audio`,
/// requests in `+Control`, answers and events in `+Report`, files in `+Store`.
final class Shell {
  let options: NodeOptions
  let inputs: Mailbox<ShellInput>
  let directory: StateDirectory
  let loop: EventLoop
  let socket: UDPSocket
  let batch = ReceiveBatch()
  let step = Step()
  let node: Node
  let writer: StoreWriter
  var server: ControlServer?
  var helloLinks: HelloLinks?
  var networkWatch: NetworkWatch?
  var discovery: AvahiDiscovery?
  var resolver: Resolver?
  var namedPeers = NamedPeers([])
  var namesTimer: LoopTimer?
  var sound: Sound
  var reserveTickets: [(ticket: UInt64, channel: ChannelID, turn: UInt64)] = []
  var pendingPresses: [PendingPress] = []
  var pressTimer: LoopTimer?
  var pendingWrites: [PendingWrite] = []
  var lastTickets: [StoreFile: UInt64] = [:]
  /// What was last told of a file that could not be written.
  var fileFaults: [StoreFile: StoreError] = [:]
  var savedNames: StoredNames
  var speech: Speech?
  var parrot: Parrot?
  var avahiState = "off"
  var renames = Renames()
  var startedPeers: StoredPeers
  var wantsInNames: [(channel: ChannelID, peer: PeerID, name: String)] = []
  /// The newcomers that were logged.
  var newcomers = Newcomers()
  /// Who was present when that was last logged.
  var loggedPresent: [MemberKey: Bool] = [:]
  var stopping = false
  /// Whether one could talk on each channel when that was last told.
  var readiness: [ChannelID: Bool] = [:]
  /// When the level is told again.
  var nextLevel = Instant.zero

  /// Opens everything that can fail.
  init(
    options: NodeOptions, directory: StateDirectory, inputs: Mailbox<ShellInput>
  ) throws(NodeServiceError) {
    self.options = options
    self.directory = directory
    self.inputs = inputs
    let state = try StartState(directory: directory, nickname: options.nickname)
    do {
      loop = try EventLoop()
      socket = try UDPSocket(port: options.port.map { .fixed($0) } ?? UDPSocket.automatic)
    } catch {
      throw .unavailable(error.description)
    }
    sound = try Sound(capture: options.capture, playback: options.playback)
    var configuration = Node.Configuration(
      nickname: state.nickname, boot: Entropy.number(),
      startCount: UInt32(truncatingIfNeeded: state.boots), seed: Entropy.number(),
      port: socket.port, sendsHellos: options.hello)
    // Decibels as a factor; the lowest volume is silence.
    let decibels = min(options.toneVolume, NodeOptions.toneVolumes.upperBound)
    configuration.toneGain =
      decibels > NodeOptions.toneVolumes.lowerBound
      ? Platform.power(10, Double(decibels) / 20) : 0
    do {
      node = try Node(
        identity: state.identity, configuration: configuration, channels: state.channels,
        current: state.current, now: BootClock.now())
    } catch {
      switch error {
      case .codec(let codec): throw .unavailable(codec.description)
      case .secretMemory: throw .unavailable("no memory for secrets; raise 'ulimit -l'")
      }
    }
    startedPeers = state.peers
    savedNames = state.names
    let mailbox = inputs
    writer = StoreWriter(directory: directory) { mailbox.post(.stored($0)) }
    node.announces = options.avahi
    if options.parrot { parrot = Parrot(me: node.me) }
    let audible = options.tones.map(\.rawValue)
    node.silentTones = ToneEvent.allCases.filter { !audible.contains($0.word) }
    for entry in state.names.entries {
      node.remember(entry.name, of: entry.peer, on: entry.channel)
    }
    for notice in state.notices { Log.error(notice) }
  }

  // MARK: Running

  /// Runs until the node is told to stop.
  func run() throws(NodeServiceError) {
    do {
      try connect()
      try loop.run(
        due: { _ in self.input { self.node.wake($0) } },
        late: { late in self.input { self.node.loopWasLate(by: late, $0) } })
    } catch let error as NetError {
      throw .unavailable(error.description)
    } catch let error as ControlError {
      throw NodeServiceError(error)
    } catch let error as AddressError {
      throw .usage(error.description)
    } catch {
      throw .unavailable("\(error)")
    }
    close()
  }

  private func connect() throws {
    try loop.add(fd: socket.fd) { [unowned self] in self.receive() }
    try loop.add(fd: inputs.fd) { [unowned self] in
      self.inputs.drain { self.take($0) }
    }
    pressTimer = try LoopTimer(loop: loop) { [unowned self] in self.answerWaitingPresses() }
    networkWatch = try NetworkWatch(loop: loop) { [unowned self] links in
      self.linksChanged(links)
    }
    helloLinks = try HelloLinks(
      socket: socket, links: networkWatch?.links ?? [], loop: loop, batch: batch
    ) { [unowned self] _ in self.receiveBatch() }
    try connectSound()
    try connectDiscovery()
    server = try ControlServer(
      path: ControlPath.resolve(
        state: options.state, environment: Environment.places),
      handler: ControlBridge(inputs: inputs))
    linksChanged(networkWatch?.links ?? [])
    input { step in
      for entry in self.startedPeers.entries {
        self.node.addRemembered(entry.endpoint, of: entry.channel, step)
      }
    }
    Log.line("ready on UDP port \(socket.port), control socket \(server?.path ?? "")")
  }

  private func connectDiscovery() throws {
    if options.avahi {
      avahiState = "down"
      let discovery = try AvahiDiscovery()
      self.discovery = discovery
      try loop.add(fd: discovery.events.fd) { [unowned self] in
        discovery.events.drain { self.discovered($0) }
      }
    }
    try connectNamedPeers()
  }

  private func close() {
    input { self.node.stop($0) }
    savePeers()
    discovery?.stop()
    helloLinks?.cancel()
    networkWatch?.cancel()
    sound.close()
    writer.close()
    Log.line("stopped")
    // Last: who asked for the end takes the lost connection for it.
    server?.close()
  }

  /// Ends the loop after this input.
  func beginStop() {
    guard !stopping else { return }
    stopping = true
    loop.stop()
  }

  private func take(_ input: ShellInput) {
    switch input {
    case .request(let request, let client, let reply): handle(request, client, reply)
    case .clientGone(let client): clientGone(client)
    case .stored(let completion): stored(completion)
    case .stop: beginStop()
    }
  }

  // MARK: The loop contract

  /// Lets the node take one input and performs what it recorded.
  func input(_ body: (Step) -> Void) {
    take(at: BootClock.now(), body)
    settle()
  }

  /// One input of several that come at once: everything that the step recorded is performed before
  /// the next; `settle` follows the last.
  private func take(at time: Instant, _ body: (Step) -> Void) {
    step.now = time
    unsafe step.entropy.refill { unsafe Entropy.fill($0) }
    body(step)
    perform()
  }

  /// What is needed once after any number of inputs: devices and timer.
  private func settle() {
    followDevices()
    armTimer()
  }

  /// Sends, then the rare effects.
  private func perform() {
    guard !step.isEmpty else { return step.slab.removeAll() }
    for outgoing in step.sends {
      unsafe socket.append(
        UnsafeRawBufferPointer(step.slab[outgoing.range]), to: outgoing.endpoint)
    }
    socket.flush()
    for range in step.hellos {
      for link in helloLinks?.links ?? [] {
        unsafe helloLinks?.sendHello(UnsafeRawBufferPointer(step.slab[range]), on: link)
      }
    }
    let cold = step.cold
    step.removeAll()
    for effect in cold { perform(effect) }
  }

  /// Arms the timer for what is due next. What was due before counts from now: how late the loop is
  /// says something of the loop, not of a machine that asks to be woken at once.
  func armTimer() {
    let due = Instant.earliest(node.deadline, sound.deadline)
    loop.arm(due.map { max($0, BootClock.now()) })
  }

  private func perform(_ effect: ColdEffect) {
    switch effect {
    case .reserveTurns(let channel, let turn): reserveTurns(channel, through: turn)
    case .saveChannel(let channel): save(channel)
    case .forgetChannel(let channel): forget(channel)
    case .publish(let instance, let txt):
      do {
        try discovery?.publish(instance: instance, port: socket.port, text: txt)
      } catch {
        Log.error("mDNS record refused: \(error)")
      }
    case .tell(let event): tell(event)
    }
  }

  private func receive() {
    guard socket.receive(into: batch) else { return }
    receiveBatch()
  }

  private func receiveBatch() {
    let now = BootClock.now()
    batch.forEach { datagram in
      take(at: now) { step in
        unsafe node.receive(datagram.bytes, from: datagram.source, step)
      }
    }
    settle()
  }

  // MARK: The network

  private func linksChanged(_ links: [Link]) {
    helloLinks?.update(links)
    discovery?.refresh()
    namedPeers.networkChanged()
    lookUpPeers()
    let addresses = links.filter { $0.kind != .loopback }.flatMap { link in
      link.addresses.map { address in
        LinkAddress(
          interface: link.index, address: address.address,
          prefixLength: UInt8(address.isIPv4 ? address.prefix - 96 : address.prefix),
          isContainer: link.kind == .bridge)
      }
    }
    input { self.node.linksChanged(addresses, $0) }
  }

  private func discovered(_ event: TalkDiscovery.DiscoveryEvent) {
    switch event {
    case .found(let service):
      input {
        self.node.found(
          instance: service.instance, txt: service.text, at: [service.endpoint], $0)
      }
    case .collision:
      switch renames.collided() {
      case .rename: input { self.node.renewServiceRecord($0) }
      case .giveUp:
        Log.line("somebody on this network defends every mDNS name; members are found by hellos")
      case .quiet: break
      }
    case .published: renames.registered()
    case .status(let status):
      avahiState = status == .running ? "running" : "down"
      Log.line(status.description, [.running, .registering].contains(status) ? .info : .error)
      publish(
        .discovery(
          DiscoveryEvent(
            source: "avahi", state: avahiState,
            reason: status == .running ? nil : .avahiDown)))
    case .lost: break
    }
  }
}
