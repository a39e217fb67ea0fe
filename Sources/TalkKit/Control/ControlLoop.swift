import Glibc
import TalkCore

/// The socket's thread: waits for clients, lines, replies and events, and passes them on.
struct ControlLoop {
  private let server: ControlServer
  private var connections = OrderedTable<ControlClientID, ControlConnection>(
    limit: ControlLimits.clients)
  private var lastClient: UInt64 = 0
  /// True after accept(2) failed for want of descriptors: look again later rather than spin.
  private var acceptRests = false

  init(server: ControlServer) {
    self.server = server
  }

  /// Serves until a `close` is posted.
  mutating func run() {
    while true {
      waitAndRead()
      guard deliverPosts() else { break }
      tidy()
    }
    for connection in connections.values { end(connection) }
    server.listener.end()
  }

  /// One poll(2): new clients, new lines, room for output.
  private mutating func waitAndRead() {
    var polled = [pollfd(fd: server.wake, events: Int16(POLLIN), revents: 0)]
    polled.append(
      pollfd(fd: acceptRests ? -1 : server.listener.descriptor, events: Int16(POLLIN), revents: 0))
    for connection in connections.values {
      let events = (connection.mayRead ? POLLIN : 0) | (connection.output.isEmpty ? 0 : POLLOUT)
      polled.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
    }
    let ready = unsafe poll(&polled, nfds_t(polled.count), acceptRests ? 1_000 : -1)
    acceptRests = false
    guard ready > 0 else { return }
    if polled[0].revents != 0 {
      var count: UInt64 = 0
      _ = unsafe read(server.wake, &count, 8)
    }
    for (index, entry) in zip(connections.indices, polled[2...]) where entry.revents != 0 {
      serve(index, entry.revents)
    }
    if polled[1].revents != 0 { accept() }
  }

  private mutating func serve(_ index: Int, _ events: Int16) {
    let flags = Int32(events)
    if flags & (POLLIN | POLLHUP | POLLERR) != 0, connections[at: index].mayRead {
      connections[at: index].read()
      takeLines(index)
    }
    if flags & POLLOUT != 0 { connections[at: index].flush() }
    if flags & (POLLHUP | POLLERR) != 0 { connections[at: index].hangUp() }
  }

  private mutating func takeLines(_ index: Int) {
    while connections[at: index].waiting < ControlLimits.waitingRequests,
      let line = connections[at: index].nextLine()
    {
      guard line.count <= ControlLimits.lineSize else { return refuseLongLine(index) }
      take(line, index)
    }
    if connections[at: index].lineIsTooLong { refuseLongLine(index) }
  }

  /// Says why and ends: where the next line begins is not known.
  private mutating func refuseLongLine(_ index: Int) {
    let failure = ControlFailure(
      .notRequest, .usage, "a line has at most \(ControlLimits.lineSize) bytes")
    connections[at: index].send(ControlMessage.failure(failure, id: .null))
    connections[at: index].flush()
    connections[at: index].breakOff()
  }

  /// Takes one line: passes a request on, or answers what is wrong with it.
  private mutating func take(_ line: [UInt8], _ index: Int) {
    guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) else { return }
    let request: ControlMessage.Request
    let call: ControlCall
    do throws(ControlMessage.BadRequest) {
      request = try ControlMessage.request(line)
      do throws(ControlFailure) {
        call = try ControlCall.parse(method: request.method, parameters: request.parameters)
      } catch {
        throw ControlMessage.BadRequest(id: request.id, failure: error)
      }
    } catch {
      // A notification gets no answer, not even a bad one (JSON-RPC 2.0, section 4.1).
      if let id = error.id {
        connections[at: index].send(ControlMessage.failure(error.failure, id: id))
      }
      return
    }
    let client = connections[at: index].id
    let id = request.id
    connections[at: index].isKnown = true
    connections[at: index].waiting += 1
    let server = server
    switch call {
    case .request(let request):
      server.handler.handle(request, from: client) { server.post(.reply(client, id: id, $0)) }
    case .subscribe(let levels):
      unsubscribe(index)
      connections[at: index].subscription = .pending(levels: levels)
      // Counted before the status is asked for, so that no event after it is passed over.
      server.countSubscriber(levels: levels, by: 1)
      server.handler.handle(.status, from: client) { server.postSnapshot(client, id: id, $0) }
    }
  }

  private mutating func unsubscribe(_ index: Int) {
    switch connections[at: index].subscription {
    case .none: break
    case .pending(let levels), .events(let levels): server.countSubscriber(levels: levels, by: -1)
    }
    connections[at: index].subscription = .none
  }

  private mutating func accept() {
    while true {
      let number = Glibc.accept(server.listener.descriptor, nil, nil)
      guard number >= 0 else {
        acceptRests = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED
        return
      }
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
      UnixAddress.makeNonBlocking(number)
      lastClient += 1
      var connection = ControlConnection(
        id: ControlClientID(number: lastClient), descriptor: number)
      guard !connections.isFull else {
        let failure = ControlFailure(
          .overload, "\(ControlLimits.clients) clients are connected already; end one")
        connection.send(ControlMessage.failure(failure, id: .null))
        connection.flush()
        close(number)
        continue
      }
      connections[connection.id] = connection
    }
  }

  /// Passes on what the node gave; false once it is to end.
  private mutating func deliverPosts() -> Bool {
    var goesOn = true
    for post in server.takePosts() {
      switch post {
      case .reply(let client, let id, let reply): answer(client, id, reply)
      case .snapshot(let client, let id, let reply, let stamp):
        open(client, id, reply, stamp)
      case .event(let content, let stamp): tell(content, stamp)
      case .close: goesOn = false
      }
    }
    for index in connections.indices { connections[at: index].flush() }
    return goesOn
  }

  private mutating func answer(_ client: ControlClientID, _ id: JSONValue?, _ reply: ControlReply) {
    guard let index = connections.index(of: client) else { return }
    connections[at: index].waiting -= 1
    if let id { connections[at: index].send(ControlMessage.reply(reply, id: id)) }
    // Lines that came while too many requests waited.
    takeLines(index)
  }

  /// Opens a stream of events with the snapshot that it rests on.
  private mutating func open(
    _ client: ControlClientID, _ id: JSONValue?, _ reply: ControlReply,
    _ stamp: ControlServer.WatchStamp
  ) {
    guard let index = connections.index(of: client) else { return }
    guard case .pending(let levels) = connections[at: index].subscription,
      case .success(.status(let report)) = reply
    else {
      unsubscribe(index)
      answer(client, id, reply)
      return
    }
    answer(client, id, .success(.done))
    connections[at: index].subscription = .events(levels: levels)
    connections[at: index].send(ControlMessage.event(event(.snapshot(report), stamp)))
  }

  private mutating func tell(_ content: WatchEvent.Content, _ stamp: ControlServer.WatchStamp) {
    var line: [UInt8]?
    for index in connections.indices {
      guard case .events(let levels) = connections[at: index].subscription,
        levels || !content.isLevel
      else { continue }
      let text = line ?? ControlMessage.event(event(content, stamp))
      line = text
      connections[at: index].send(text)
    }
  }

  private func event(
    _ content: WatchEvent.Content, _ stamp: ControlServer.WatchStamp
  ) -> WatchEvent {
    WatchEvent(seq: stamp.seq, at: stamp.at, wallSeconds: stamp.wallSeconds, content: content)
  }

  /// Lets go of connections that are over.
  private mutating func tidy() {
    for index in connections.indices.reversed() where connections[at: index].isOver {
      unsubscribe(index)
      end(connections[at: index])
      connections[connections[at: index].id] = nil
    }
  }

  private func end(_ connection: ControlConnection) {
    // A child process may have inherited the descriptor between accept(2) and fcntl(2).
    shutdown(connection.descriptor, Int32(SHUT_RDWR))
    close(connection.descriptor)
    if connection.isKnown { server.handler.clientGone(connection.id) }
  }
}
