package import TalkStore

/// Where a node's control socket is, for the node and its clients alike.
package enum ControlPath {
  /// `DIR/control.sock` with a named state directory; else
  /// `$XDG_RUNTIME_DIR/talkaround/control.sock`, or, where that is not set, `control.sock` in the
  /// default state directory (surface.md, "Control socket").
  package static func resolve(
    state: String?, environment: [String: String]
  ) throws(StoreError) -> String {
    if let state { return join(state, "control.sock") }
    if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
      return join(runtime, "talkaround/control.sock")
    }
    return join(try StateDirectory.defaultPath(environment: environment), "control.sock")
  }

  private static func join(_ folder: String, _ name: String) -> String {
    var folder = Substring(folder)
    while folder.count > 1, folder.last == "/" { folder.removeLast() }
    return "\(folder)/\(name)"
  }
}

/// Where a node keeps its state, for the node and the commands alike.
package enum StateFolder {
  /// The named directory, else the default one; throws when neither is known.
  package static func path(
    _ state: String?, _ environment: [String: String]
  ) throws(NodeServiceError) -> String {
    if let state { return state }
    do throws(StoreError) {
      return try StateDirectory.defaultPath(environment: environment)
    } catch {
      throw NodeServiceError(error)
    }
  }
}
