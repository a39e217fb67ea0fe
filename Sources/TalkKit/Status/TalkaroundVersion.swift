/// Which version of Talkaround this is.
public enum TalkaroundVersion {
  /// The version as `--version` and `status` show it (semver.org).
  public static let text = "0.1.0"
}
