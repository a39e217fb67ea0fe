import Glibc

/// Whether the system bus is there and alive.
enum SystemBus {
  /// How long it may take, in milliseconds.
  private static let patience: Int32 = 1_500

  /// Connects and asks for the ways of authentication, which every bus answers before anybody is
  /// known to it (D-Bus Specification, "Authentication Protocol": REJECTED and the list).
  static func probe(_ environment: [String: String]) -> DoctorFacts.Bus {
    let path = path(environment)
    guard let address = try? UnixAddress(path), let socket = try? UnixAddress.makeSocket(path: path)
    else { return .absent(path) }
    defer { close(socket) }
    UnixAddress.makeNonBlocking(socket)
    if unsafe address.withPointer({ unsafe connect(socket, $0, $1) }) != 0 {
      switch errno {
      case EACCES, EPERM: return .denied(path)
      // Its queue is full: it takes nobody any more.
      case EAGAIN: return .silent(path)
      default: return .absent(path)
      }
    }
    let request = Array("\0AUTH\r\n".utf8)
    _ = unsafe send(socket, request, request.count, Int32(MSG_NOSIGNAL))
    var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&polled, 1, patience) == 1 else { return .silent(path) }
    var answer = [UInt8](repeating: 0, count: 64)
    let got = unsafe recv(socket, &answer, answer.count, 0)
    return got > 0 ? .answering : .absent(path)
  }

  /// Where libdbus looks: DBUS_SYSTEM_BUS_ADDRESS, else the usual place.
  static func path(_ environment: [String: String]) -> String {
    let usual = "/run/dbus/system_bus_socket"
    guard let text = environment["DBUS_SYSTEM_BUS_ADDRESS"] else { return usual }
    for address in text.split(separator: ";") where address.hasPrefix("unix:") {
      for field in address.dropFirst(5).split(separator: ",") where field.hasPrefix("path=") {
        return String(field.dropFirst(5))
      }
    }
    return usual
  }
}
