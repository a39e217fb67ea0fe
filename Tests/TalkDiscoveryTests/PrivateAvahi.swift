import Foundation
import TalkCore
import TalkDiscovery
import TalkNet
import Testing

/// A system bus and an avahi-daemon of our own, in a network and mount namespace of their own with
/// a cable to a second network; they end with this process.
///
/// The test process stays where it is and reaches the bus by its socket: libdbus reads
/// DBUS_SYSTEM_BUS_ADDRESS once per process, so there is one bus address for all tests.
final class PrivateAvahi {
  static let tools = ["/usr/bin/dbus-daemon", "/usr/sbin/avahi-daemon", "/usr/bin/unshare"]
  static let isPossible =
    geteuid() == 0 && tools.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  static let reason: Comment = "needs root, dbus-daemon and avahi-daemon"

  /// The process id of one in the second network: the other end of the cable.
  private(set) var neighbour: Int32 = 0
  private let supervisor = Process()
  private let orders = Pipe()
  private let replies = Pipe()

  private static let directory: String = {
    let path = "/tmp/talk-avahi-\(getpid())"
    setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=\(path)/bus", 1)
    return path
  }()

  /// Namespaces without daemons.
  init() throws {
    let directory = Self.directory
    try FileManager.default.createDirectory(
      atPath: directory + "/run/avahi-daemon", withIntermediateDirectories: true)
    try Self.busConfiguration.write(
      toFile: directory + "/bus.conf", atomically: true, encoding: .utf8)
    try Self.avahiConfiguration.write(
      toFile: directory + "/avahi.conf", atomically: true, encoding: .utf8)
    try Self.script.write(toFile: directory + "/supervisor", atomically: true, encoding: .utf8)
    supervisor.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    supervisor.arguments = ["--net", "--mount", "/bin/bash", directory + "/supervisor", directory]
    supervisor.standardInput = orders
    supervisor.standardOutput = replies
    try supervisor.run()
    neighbour = Int32(reply()) ?? 0
    #expect(neighbour > 0)
  }

  deinit {
    orders.fileHandleForWriting.closeFile()
    supervisor.waitUntilExit()
    try? FileManager.default.removeItem(atPath: Self.directory)
  }

  /// Gives the supervisor an order and waits until it is done.
  func order(_ text: String) {
    orders.fileHandleForWriting.write(Data((text + "\n").utf8))
    #expect(reply() == "ok", "\(text)")
  }

  private func reply() -> String {
    var line: [UInt8] = []
    while let byte = replies.fileHandleForReading.readData(ofLength: 1).first {
      if byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  private static let script = """
    D=$1
    exec 3>&1 >>$D/log 2>&1
    set -e
    mount --make-rprivate /
    mount --bind $D/run /run
    ip link set lo up
    unshare --net sleep infinity & peer=$!
    while [ "$(readlink /proc/$peer/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
    ip link add v0 type veth peer name v1 netns $peer
    ip addr add 10.42.0.1/24 dev v0
    ip link set v0 up
    nsenter -t $peer -n ip link set lo up
    nsenter -t $peer -n ip addr add 10.42.0.2/24 dev v1
    nsenter -t $peer -n ip link set v1 up
    set +e
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$D/bus
    echo $peer >&3
    while read order argument; do
      case $order in
      bus) rm -f $D/bus
        dbus-daemon --config-file=$D/bus.conf --nofork --nopidfile & bus=$!
        while [ ! -S $D/bus ]; do sleep 0.01; done ;;
      avahi) rm -f /run/avahi-daemon/pid
        avahi-daemon -f $D/avahi.conf --no-chroot --no-drop-root --no-rlimits & avahi=$!
        while [ ! -S /run/avahi-daemon/socket ]; do sleep 0.01; done ;;
      end-bus) kill -9 $bus; wait $bus; rm -f $D/bus ;;
      end-avahi) kill -9 $avahi; wait $avahi; rm -f /run/avahi-daemon/socket ;;
      signal-avahi) kill -$argument $avahi ;;
      esac
      echo ok >&3
    done
    kill -9 $avahi $bus $peer
    """

  private static let busConfiguration = """
    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
     "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig>
      <type>system</type>
      <auth>EXTERNAL</auth>
      <listen>unix:path=\(directory)/bus</listen>
      <policy context="default">
        <allow user="*"/><allow own="*"/>
        <allow send_type="method_call"/><allow send_type="signal"/>
        <allow send_requested_reply="true" send_type="method_return"/>
        <allow send_requested_reply="true" send_type="error"/>
        <allow receive_type="method_call"/><allow receive_type="method_return"/>
        <allow receive_type="error"/><allow receive_type="signal"/>
      </policy>
      <includedir>/usr/share/dbus-1/system.d</includedir>
    </busconfig>
    """

  private static let avahiConfiguration = """
    [server]
    host-name=talk-test
    use-ipv4=yes
    use-ipv6=yes
    ratelimit-interval-usec=1000000
    ratelimit-burst=1000
    [wide-area]
    enable-wide-area=no
    [publish]
    publish-hinfo=no
    publish-workstation=no
    """
}

extension AvahiDiscovery {
  /// Takes events until one satisfies `enough`, and returns all of them; records an issue after
  /// `limit`, unless there is nothing to say.
  @discardableResult
  func events(
    within limit: Duration = .seconds(10), _ what: Comment?,
    sourceLocation: SourceLocation = #_sourceLocation,
    until enough: (DiscoveryEvent) -> Bool
  ) -> [DiscoveryEvent] {
    let end = BootClock.now() + limit
    var taken: [DiscoveryEvent] = []
    while true {
      while let event = events.next() {
        taken.append(event)
        if enough(event) { return taken }
      }
      let left = end - BootClock.now()
      guard left > .zero else { break }
      events.wait(milliseconds: Int32(left.milliseconds.rounded(.up)))
    }
    if let what {
      Issue.record(
        "not within \(limit): \(what); \(taken.count) events, the last \(taken.suffix(3))",
        sourceLocation: sourceLocation)
    }
    return taken
  }

  /// Waits for a status.
  @discardableResult
  func status(
    _ status: DiscoveryStatus, within limit: Duration = .seconds(10),
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> [DiscoveryEvent] {
    events(within: limit, "status \(status)", sourceLocation: sourceLocation) {
      $0 == .status(status)
    }
  }

  /// Waits until an instance of ours is registered.
  @discardableResult
  func registered(
    _ instance: String, within limit: Duration = .seconds(10),
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> [DiscoveryEvent] {
    events(within: limit, "\(instance) published", sourceLocation: sourceLocation) {
      $0 == .published(instance: instance)
    }
  }

  /// Waits until a service of this instance is found, and returns it.
  func found(
    _ instance: String, within limit: Duration = .seconds(10),
    sourceLocation: SourceLocation = #_sourceLocation,
    where isRight: (DiscoveredService) -> Bool = { _ in true }
  ) -> DiscoveredService? {
    var found: DiscoveredService?
    events(within: limit, "\(instance) found", sourceLocation: sourceLocation) {
      guard case .found(let service) = $0, service.instance == instance, isRight(service) else {
        return false
      }
      found = service
      return true
    }
    return found
  }
}
