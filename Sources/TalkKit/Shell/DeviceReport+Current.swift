import TalkAudio

extension DeviceReport {
  /// What the sound server has, and what the node uses, named as in `status`. Waits for the server,
  /// at most 3 s: not for the loop.
  static func current(capture: String, playback: String) -> DeviceReport {
    do throws(AudioFault) {
      let devices = try AudioDevices.list()
      return DeviceReport(
        capture: report(devices.filter { $0.direction == .source && !$0.isMonitor }, capture),
        playback: report(devices.filter { $0.direction == .sink }, playback))
    } catch {
      return DeviceReport(capture: [], playback: [], reason: error.reason)
    }
  }

  private static func report(_ devices: [AudioDeviceInfo], _ used: String) -> [Device] {
    var report = devices.map { device in
      let name = "pulse:\(device.name)"
      return Device(
        name: name, label: device.description, isDefault: device.isDefault,
        isInUse: name == used)
    }
    if !report.contains(where: \.isInUse) {
      report.append(Device(name: used, label: used, isDefault: false, isInUse: true))
    }
    return report
  }
}
