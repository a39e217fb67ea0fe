import TalkCore
import TalkCrypto
import TalkMesh
import TalkNet
import TalkWire

/// Sends to everybody on each link, by the node's own sockets, and hears what comes.
///
/// Each link gets datagrams with the shape of a HELLO that no channel can open, so that their
/// copies are known again, and nobody acts on them.
///
/// With a `call` it also sends a true HELLO of each channel, so that members call the port that it
/// was sent from, as they would call a node; and it calls whoever is remembered, announced, or
/// heard. Nobody goes on with these calls: that a datagram came says that datagrams arrive.
final class AirProbe {
  /// The most members that are called.
  static let contactLimit = 16
  /// The most senders of HELLOs that are told apart.
  private static let heardLimit = 256
  /// When something is sent, since the start: Wi-Fi loses a multicast now and then.
  private static let sendings: [Duration] = [.zero, .milliseconds(250), .milliseconds(600)]
  /// When members are called who did not call: mDNS takes a second to show them.
  private static let callings: [Duration] = [.milliseconds(300), .milliseconds(900), .seconds(1.2)]
  /// How long is listened for our own copies alone; they come at once.
  private static let short = Duration.milliseconds(700)
  /// How long for others: they may wait 0.3 s for us to call first (mesh.md).
  private static let long = Duration.milliseconds(1_600)
  /// Ports that no node takes, for while a node runs.
  private static let otherPorts: ClosedRange<UInt16> = 49_152...49_400

  private let socket: UDPSocket
  private let loop: EventLoop
  private let batch = ReceiveBatch()
  private let links: [Link]
  private let channels: [DoctorChannel]
  /// Calls members; nil while a node runs, which does that itself.
  var call: MemberCall?
  /// Members that may be there.
  var contacts: [DoctorContact] = []
  /// More of them, as they are found.
  var browse: () -> [DoctorContact] = { [] }
  private let own: Set<Bytes16>
  private let nodePort: UInt16?
  private let boot: UInt64
  private var counter: UInt64 = 0
  private var entropy = EntropyPool()
  private var helloLinks: HelloLinks?
  private var timers: [LoopTimer] = []
  private var probes: [UInt32: [UInt8]] = [:]
  private var results: [UInt32: DoctorFacts.Air.LinkProbe] = [:]
  private var members: Set<Endpoint> = []
  private var callers: Set<Endpoint> = []
  private var called: Set<Endpoint> = []
  private var foreign: Set<Endpoint> = []

  /// Opens the sockets. `nodePort` is the port of the node that runs here, whose HELLOs do not
  /// count; nil when none does, and its port is ours for a moment.
  init(
    links: [Link], channels: [DoctorChannel], nodePort: UInt16?
  ) throws(NetError) {
    self.links = links
    self.channels = channels
    self.nodePort = nodePort
    own = Set(links.flatMap(\.addresses).map(\.address))
    // Above nearly all others', so that members call us rather than wait to be called; new each
    // time, because they drop counters that they have seen.
    boot = Entropy.number() | 0xffff << 48
    loop = try EventLoop()
    if nodePort == nil, let standard = try? UDPSocket() {
      socket = standard
    } else {
      socket = try UDPSocket(port: .automatic(Self.otherPorts))
    }
  }

  /// Sends and listens, for some 0.7 s, with `calls` for 1.6 s.
  func run() throws(NetError) -> DoctorFacts.Air {
    try loop.add(fd: socket.fd) { [unowned self] in
      if self.socket.receive(into: self.batch) { self.take() }
    }
    helloLinks = try HelloLinks(socket: socket, links: links, loop: loop, batch: batch) {
      [unowned self] _ in self.take()
    }
    for delay in Self.sendings { try at(delay) { [unowned self] in self.send() } }
    if call != nil {
      for delay in Self.callings { try at(delay) { [unowned self] in self.callMembers() } }
    }
    loop.arm(BootClock.now() + (call != nil ? Self.long : Self.short))
    try loop.run(due: { [unowned self] _ in self.loop.stop() }, late: { _ in })
    helloLinks?.cancel()
    for timer in timers { timer.cancel() }
    var air = DoctorFacts.Air()
    air.links = links.compactMap { results[$0.index] }.filter { $0.kind != .loopback }
    air.members = Self.ofOneKind(members)
    air.callers = Self.ofOneKind(callers)
    air.foreign = foreign.count
    return air
  }

  /// Endpoints as text. A member with two addresses is met at both: those of one kind are counted.
  private static func ofOneKind(_ endpoints: Set<Endpoint>) -> [String] {
    let ipv4 = endpoints.filter { $0.ipv4 != nil }
    return (ipv4.isEmpty ? endpoints : ipv4).sorted().map(\.description)
  }

  private func at(_ delay: Duration, _ body: @escaping () -> Void) throws(NetError) {
    let timer = try LoopTimer(loop: loop, body)
    timer.arm(after: delay)
    timers.append(timer)
  }

  // MARK: Sending

  private func send() {
    unsafe entropy.refill { unsafe Entropy.fill($0) }
    for link in helloLinks?.links ?? [] {
      let before = socket.counters
      let probe = probes[link.index] ?? Self.makeProbe()
      probes[link.index] = probe
      send(probe, on: link)
      let after = socket.counters
      let failed = after.unreachable + after.failed > before.unreachable + before.failed
      var result =
        results[link.index] ?? DoctorFacts.Air.LinkProbe(name: link.name, kind: link.kind)
      result.sendError = failed && after.sent == before.sent ? after.lastError : nil
      results[link.index] = result
      guard call != nil else { continue }
      for channel in channels {
        counter += 1
        let body = HelloBody(bootInstance: boot, counter: counter, port: socket.port)
        let hello = Hello.seal(body, keys: channel.keys, entropy: &entropy)
        if let hello { send(hello, on: link) }
      }
    }
  }

  private func callMembers() {
    unsafe entropy.refill { unsafe Entropy.fill($0) }
    for contact in (contacts + browse()).prefix(4 * Self.contactLimit) {
      let endpoint = contact.endpoint
      guard !callers.contains(endpoint), !own.contains(endpoint.address) else { continue }
      guard called.contains(endpoint) || called.count < Self.contactLimit,
        let datagram = call?.datagram(to: contact, entropy: &entropy)
      else { continue }
      called.insert(endpoint)
      unsafe datagram.withUnsafeBytes { bytes in
        unsafe socket.append(bytes, to: endpoint)
        socket.flush()
      }
    }
  }

  private func send(_ bytes: [UInt8], on link: Link) {
    unsafe bytes.withUnsafeBytes { unsafe helloLinks?.sendHello($0, on: link) }
  }

  /// What looks like a HELLO of somebody else's channel.
  private static func makeProbe() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: HelloDatagram.headerSize)
    bytes[0] = HelloDatagram.type
    bytes[1] = HelloDatagram.version
    return bytes + Entropy.bytes(HelloDatagram.size - HelloDatagram.headerSize)
  }

  // MARK: Hearing

  private func take() {
    batch.forEach { datagram in
      let bytes = unsafe Array(datagram.bytes)
      if let (index, _) = probes.first(where: { $0.value == bytes }) {
        guard datagram.interface == index else { return }
        if datagram.source.ipv4 != nil {
          results[index]?.heardIPv4 = true
        } else {
          results[index]?.heardIPv6 = true
        }
        return
      }
      switch unsafe DatagramType(of: bytes.span.bytes) {
      case .hello: takeHello(bytes, from: datagram.source)
      case .initiation where isForUs(bytes) && !own.contains(datagram.source.address):
        callers.insert(datagram.source)
      case .response where called.contains(datagram.source): callers.insert(datagram.source)
      default: break
      }
    }
  }

  private func takeHello(_ bytes: [UInt8], from source: Endpoint) {
    let isOurs = own.contains(source.address) && source.port == (nodePort ?? socket.port)
    guard !isOurs else { return }
    do throws(HelloDrop) {
      let (channel, body) = try unsafe Hello.open(
        bytes.span.bytes, channels: channels.map { ($0.id, $0.keys) })
      guard body.bootInstance != boot else { return }
      var endpoint = source
      endpoint.port = body.port
      let contact = DoctorContact(channel: channel, endpoint: endpoint)
      guard members.count < Self.heardLimit else { return }
      members.insert(endpoint)
      if !contacts.contains(contact) { contacts.append(contact) }
    } catch {
      if error == .foreign, foreign.count < Self.heardLimit { foreign.insert(source) }
    }
  }

  /// True for a call on a channel of ours: its first mac is made with the channel's key.
  private func isForUs(_ bytes: [UInt8]) -> Bool {
    let covered = Array(bytes[HandshakeDatagram.macCovered])
    let mac = Array(bytes[HandshakeDatagram.mac1])
    return channels.contains { unsafe $0.keys.mac1(of: covered.span.bytes).bytes == mac }
  }
}
