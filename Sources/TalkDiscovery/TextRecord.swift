import CAvahi

/// Between our TXT strings and Avahi's list of them (avahi-common/strlst.h).
enum TextRecord {
  /// Hands `body` a list of the strings, which lives as long as the call; nil without memory.
  static func withList<Result>(
    _ text: [[UInt8]], _ body: (UnsafeMutablePointer<AvahiStringList>?) -> Result
  ) -> Result? {
    var list: UnsafeMutablePointer<AvahiStringList>?
    // The list is built from its end.
    for string in text.reversed() {
      guard let longer = unsafe avahi_string_list_add_arbitrary(list, string, string.count) else {
        unsafe avahi_string_list_free(list)
        return nil
      }
      unsafe list = longer
    }
    defer { unsafe avahi_string_list_free(list) }
    return unsafe body(list)
  }

  /// The strings of a list, without empty ones; nil when they are more than we allow.
  static func strings(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [[UInt8]]? {
    var result: [[UInt8]] = []
    var used = 0
    var next = unsafe list
    while let string = unsafe next {
      let count = unsafe avahi_string_list_get_size(string)
      used += 1 + count
      guard used <= Publication.textLimit else { return nil }
      if count > 0, let bytes = unsafe avahi_string_list_get_text(string) {
        unsafe result.append(Array(UnsafeBufferPointer(start: bytes, count: count)))
      }
      unsafe next = avahi_string_list_get_next(string)
    }
    return result
  }
}
