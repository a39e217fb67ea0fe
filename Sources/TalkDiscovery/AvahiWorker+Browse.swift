import CAvahi
import TalkCore
import TalkNet

/// A resolver that has not answered yet.
struct ActiveResolver {
  /// The most at a time; the daemon allows a client 1,024 objects of all kinds.
  static let limit = 32
  /// How long it may take; the daemon gives up after 5 s.
  static let patience = Duration.seconds(10)

  let sighting: Sighting
  let deadline: Instant
  var isDone = false
}

extension AvahiWorker {
  /// Starts a new browser in place of the old one.
  func remakeBrowser(at now: Instant) {
    if let browser { unsafe avahi_service_browser_free(browser.pointer) }
    sightings.begin(at: now)
    browser = unsafe Handle(
      avahi_service_browser_new(
        client?.pointer, avahiAnyInterface, avahiAnyVersion, serviceType, nil,
        AvahiLookupFlags(0), browserEvent, context))
    if browser == nil { fail() }
  }

  /// Frees resolvers that are done or too old, and starts others.
  func resolve(at now: Instant) {
    for (handle, resolver) in resolvers where resolver.isDone || resolver.deadline <= now {
      unsafe avahi_service_resolver_free(handle.pointer)
      resolvers[handle] = nil
      wishes.count { $0.liveResolvers -= 1 }
    }
    guard resolvingPausedUntil <= now else { return }
    while resolvers.count < ActiveResolver.limit, let sighting = sightings.nextPending() {
      guard start(sighting, at: now) else { return }
    }
  }

  private func start(_ sighting: Sighting, at now: Instant) -> Bool {
    let pointer = unsafe avahi_service_resolver_new(
      client?.pointer, sighting.interface, sighting.version, sighting.instance, serviceType,
      "local",
      sighting.version, AvahiLookupFlags(0), resolverEvent, context)
    guard let handle = unsafe Handle(pointer) else {
      if unsafe avahi_client_errno(client?.pointer) == AVAHI_ERR_TOO_MANY_OBJECTS {
        sightings.postpone(sighting)
        resolvingPausedUntil = now + .seconds(1)
      } else {
        fail()
      }
      return false
    }
    resolvers[handle] = ActiveResolver(
      sighting: sighting, deadline: now + ActiveResolver.patience)
    wishes.count {
      $0.resolvers += 1
      $0.liveResolvers += 1
      $0.mostResolvers = max($0.mostResolvers, $0.liveResolvers)
    }
    return true
  }

  /// The browser shows or has lost a service of this name.
  fileprivate func browsed(isNew: Bool, name: String, interface: Int32, version: Int32) {
    guard Publication.isInstance(name.utf8) else {
      if isNew { wishes.count { $0.ignored += 1 } }
      return
    }
    guard !ownInstances.contains(name) else { return }
    let sighting = Sighting(instance: name, interface: interface, version: version)
    if isNew {
      if !sightings.add(sighting) { wishes.count { $0.ignored += 1 } }
    } else if sightings.remove(sighting) {
      post(.lost(instance: name))
    }
  }

  /// A resolver has ended, with what it found if it did.
  fileprivate func resolved(_ handle: Handle, endpoint: Endpoint?, text: [[UInt8]]?) {
    guard let resolver = resolvers[handle], !resolver.isDone else { return }
    resolvers[handle]?.isDone = true
    guard let endpoint else { return }
    guard let text, endpoint.port > 0 else {
      wishes.count { $0.ignored += 1 }
      return
    }
    post(
      .found(
        DiscoveredService(
          instance: resolver.sighting.instance, endpoint: endpoint,
          interface: UInt32(clamping: resolver.sighting.interface), text: text)))
  }
}

/// AVAHI_IF_UNSPEC and AVAHI_PROTO_UNSPEC, as the calls want them.
let avahiAnyInterface = AvahiIfIndex(AVAHI_IF_UNSPEC)
let avahiAnyVersion = AvahiProtocol(AVAHI_PROTO_UNSPEC)

/// AvahiServiceBrowserCallback.
private func browserEvent(
  _: OpaquePointer?, interface: AvahiIfIndex, version: AvahiProtocol, event: AvahiBrowserEvent,
  name: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
  _: AvahiLookupResultFlags, context: UnsafeMutableRawPointer?
) {
  let worker = unsafe worker(context)
  switch event {
  case AVAHI_BROWSER_NEW, AVAHI_BROWSER_REMOVE:
    guard let name = unsafe name else { return }
    unsafe worker.browsed(
      isNew: event == AVAHI_BROWSER_NEW, name: String(cString: name), interface: interface,
      version: version)
  case AVAHI_BROWSER_FAILURE:
    worker.fail()
  default:
    break
  }
}

/// AvahiServiceResolverCallback.
private func resolverEvent(
  resolver: OpaquePointer?, interface: AvahiIfIndex, _: AvahiProtocol, event: AvahiResolverEvent,
  _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
  _: UnsafePointer<CChar>?, address: UnsafePointer<AvahiAddress>?, port: UInt16,
  text: UnsafeMutablePointer<AvahiStringList>?, _: AvahiLookupResultFlags,
  context: UnsafeMutableRawPointer?
) {
  let worker = unsafe worker(context)
  guard let handle = unsafe Handle(resolver) else { return }
  guard event == AVAHI_RESOLVER_FOUND, let address = unsafe address else {
    worker.resolved(handle, endpoint: nil, text: nil)
    return
  }
  let endpoint = unsafe Endpoint(address.pointee, port: port, interface: interface)
  unsafe worker.resolved(handle, endpoint: endpoint, text: TextRecord.strings(text))
}

extension Endpoint {
  /// From Avahi's form; a link-local address keeps the interface that it was seen on.
  fileprivate init(_ address: AvahiAddress, port: UInt16, interface: AvahiIfIndex) {
    if address.proto == AVAHI_PROTO_INET {
      self.init(ipv4: UInt32(bigEndian: unsafe address.data.ipv4.address), port: port)
    } else {
      let bytes = unsafe withUnsafeBytes(of: address.data.ipv6.address) { unsafe Array($0) }
      self.init(address: Bytes16(bytes), port: port)
      if isLinkLocal { scope = UInt32(clamping: interface) }
    }
  }
}
