/// What `talkaround devices` prints: the sound devices that there are.
public struct DeviceReport: Codable, Hashable, Sendable {
  /// One device.
  public struct Device: Codable, Hashable, Sendable {
    /// What to give to `--capture` or `--playback`: `pulse:NAME`, `null`, or a file's path.
    public var name: String
    /// What a person calls it.
    public var label: String
    /// True for the sound server's default.
    public var isDefault: Bool
    /// True for the one that the node uses.
    public var isInUse: Bool

    private enum CodingKeys: String, CodingKey {
      case name, label
      case isDefault = "default"
      case isInUse = "in_use"
    }

    /// A device of its parts.
    public init(name: String, label: String, isDefault: Bool, isInUse: Bool) {
      self.name = name
      self.label = label
      self.isDefault = isDefault
      self.isInUse = isInUse
    }
  }

  /// Microphones and the like.
  public var capture: [Device]
  /// Loudspeakers and the like.
  public var playback: [Device]
  /// Why a list is empty; null when all is well.
  @Nullable public var reason: Reason?

  /// A report of its parts.
  public init(capture: [Device], playback: [Device], reason: Reason? = nil) {
    self.capture = capture
    self.playback = playback
    self.reason = reason
  }
}
