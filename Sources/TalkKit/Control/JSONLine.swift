import FoundationEssentials

/// Writes values as one line of JSON that is safe to show on a terminal.
package enum JSONLine {
  /// The JSON of `value`, keys in order, without a line end. Characters that could move a cursor or
  /// turn a line around are written as `\uXXXX`, which means the same to every reader of JSON.
  package static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard let data = try? encoder.encode(value) else {
      preconditionFailure("a report of ours has no JSON: \(type(of: value))")
    }
    return escaped([UInt8](data))
  }

  /// Reads a value; nil for anything that is not the JSON of one.
  package static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
    try? JSONDecoder().decode(type, from: Data(bytes))
  }

  private static func escaped(_ json: [UInt8]) -> [UInt8] {
    guard json.contains(where: { $0 >= 0x7f }) else { return json }
    var result: [UInt8] = []
    result.reserveCapacity(json.count)
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
      if scalar.isASCII, scalar.value != 0x7f {
        result.append(UInt8(scalar.value))
      } else if isHarmless(scalar) {
        result.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
      } else {
        for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
          let digits = String(unit, radix: 16)
          result.append(contentsOf: "\\u".utf8)
          result.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
          result.append(contentsOf: digits.utf8)
        }
      }
    }
    return result
  }

  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator:
      false
    default: true
    }
  }
}
