import TalkCore
import TalkCrypto
import TalkMesh
import TalkNet
import TalkWire

/// Sends to everybody on each link, by the node's own sockets, and hears what comes.
///
/// Each link gets datagrams with the shape of a HELLO that no channel can open, so that their
/// copies are known again, and nobody acts on them. With `calls` it also sends a true HELLO of each
/// channel: members then call the port that it was sent from, as they would call a node; nobody
/// answers them here, and what they sent says that their datagrams arrive.
final class AirProbe {
  /// When something is sent, since the start: Wi-Fi loses a multicast now and then.
  private static let sendings: [Duration] = [.zero, .milliseconds(250), .milliseconds(600)]
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
  private let keys: [(channel: ChannelID, keys: ChannelKeys)]
  private let calls: Bool
  private let own: Set<Bytes16>
  private let nodePort: UInt16?
  private let boot: UInt64
  private var counter: UInt64 = 0
  private var entropy = EntropyPool()
  private var helloLinks: HelloLinks?
  private var timers: [LoopTimer] = []
  private var probes: [UInt32: [UInt8]] = [:]
  private var results: [UInt32: DoctorFacts.Air.LinkProbe] = [:]
  private var members: Set<String> = []
  private var callers: Set<String> = []
  private var foreign: Set<Endpoint> = []

  /// Opens the sockets. `nodePort` is the port of the node that runs here, whose HELLOs do not
  /// count.
  init(
    links: [Link], keys: [(channel: ChannelID, keys: ChannelKeys)], calls: Bool, nodePort: UInt16?
  ) throws(NetError) {
    self.links = links
    self.keys = keys
    self.calls = calls
    self.nodePort = nodePort
    own = Set(links.flatMap(\.addresses).map(\.address))
    // Above nearly all others', so that members call us rather than wait to be called; new each
    // time, because they drop counters that they have seen.
    boot = Entropy.number() | 0xffff << 48
    loop = try EventLoop()
    do {
      guard nodePort == nil else { throw NetError.portTaken(UDPSocket.port) }
      socket = try UDPSocket()
    } catch {
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
    for delay in Self.sendings {
      let timer = try LoopTimer(loop: loop) { [unowned self] in self.send() }
      timer.arm(after: delay)
      timers.append(timer)
    }
    loop.arm(BootClock.now() + (calls ? Self.long : Self.short))
    try loop.run(due: { [unowned self] _ in self.loop.stop() }, late: { _ in })
    helloLinks?.cancel()
    for timer in timers { timer.cancel() }
    var air = DoctorFacts.Air()
    air.links = links.compactMap { results[$0.index] }.filter { $0.kind != .loopback }
    air.members = members.sorted()
    air.callers = callers.sorted()
    air.foreign = foreign.count
    return air
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
      guard calls else { continue }
      for (_, keys) in keys {
        counter += 1
        let body = HelloBody(bootInstance: boot, counter: counter, port: socket.port)
        if let hello = Hello.seal(body, keys: keys, entropy: &entropy) { send(hello, on: link) }
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
        callers.insert(datagram.source.description)
      default: break
      }
    }
  }

  private func takeHello(_ bytes: [UInt8], from source: Endpoint) {
    let isOurs = own.contains(source.address) && source.port == (nodePort ?? socket.port)
    guard !isOurs else { return }
    do throws(HelloDrop) {
      let (_, body) = try unsafe Hello.open(bytes.span.bytes, channels: keys)
      if body.bootInstance != boot { members.insert(source.description) }
    } catch {
      if error == .foreign { foreign.insert(source) }
    }
  }

  /// True for a call on a channel of ours: its first mac is made with the channel's key.
  private func isForUs(_ bytes: [UInt8]) -> Bool {
    let covered = Array(bytes[HandshakeDatagram.macCovered])
    let mac = Array(bytes[HandshakeDatagram.mac1])
    return keys.contains { unsafe $0.keys.mac1(of: covered.span.bytes).bytes == mac }
  }
}
