import Glibc

/// Looks at files and folders before anything in them is believed.
enum FileCheck {
  /// Throws unless the open file is a plain one of ours that nobody else may use.
  static func plainFile(_ file: Descriptor, path: String) throws(StoreError) {
    guard try file.status(path: path).st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
    try ownedByUs(file, path: path)
  }

  /// Throws unless the open file or folder is ours and nobody else may use it.
  static func ownedByUs(_ file: Descriptor, path: String) throws(StoreError) {
    let info = try file.status(path: path)
    guard info.st_uid == geteuid() else { throw .foreignOwner(path, user: info.st_uid) }
    let mode = info.st_mode & 0o7777
    guard mode & 0o077 == 0 else { throw .looseMode(path, mode: mode) }
  }

  /// All bytes of a checked file; nil when there is none. O_NONBLOCK, so that a pipe in the file's
  /// place cannot hold us.
  static func read(
    _ name: String, in folder: Descriptor, path: String
  ) throws(StoreError) -> [UInt8]? {
    let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let number = unsafe openat(folder.number, name, flags)
    guard number >= 0 else {
      guard errno != ENOENT else { return nil }
      // A socket in the file's place answers ENXIO.
      guard errno != ENXIO else { throw .notAFile(path) }
      throw .of(errno, call: "open", path: path)
    }
    let file = Descriptor(number)
    try plainFile(file, path: path)
    return try file.readAll(limit: RecordFormat.fileLimit, path: path)
  }

  /// The names in a folder in byte order: the plain ones, or those that begin with a dot.
  static func names(
    in folder: Descriptor, path: String, hidden: Bool = false
  ) throws(StoreError) -> [String] {
    // fdopendir(3) takes the descriptor over and moves its position, so it gets one of its own.
    let number = unsafe openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw .of(errno, call: "open", path: path) }
    guard let stream = unsafe fdopendir(number) else {
      close(number)
      throw .of(errno, call: "fdopendir", path: path)
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
        unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      guard name != ".", name != ".." else { continue }
      if name.hasPrefix(".") == hidden { names.append(name) }
    }
    return names.sorted()
  }
}
