import Foundation
import TalkCore

/// An answer of Apple's to one request, as far as it matters.
package struct ProviderAnswer: Hashable, Sendable {
  /// The HTTP status.
  package var status: Int
  /// Apple's reason: escaped and cut, since it is shown; empty when there was none.
  package var reason = ""
  /// When the token died, in milliseconds since 1970 (410 alone).
  package var timestamp: UInt64?
  /// The server's clock: seconds since 1970.
  package var date: Int64?
  /// The header retry-after in seconds.
  package var retryAfter: Int64?

  /// An answer of its parts.
  package init(
    status: Int, reason: String = "", timestamp: UInt64? = nil, date: Int64? = nil,
    retryAfter: Int64? = nil
  ) {
    (self.status, self.reason, self.timestamp) = (status, reason, timestamp)
    (self.date, self.retryAfter) = (date, retryAfter)
  }

  private struct Body: Decodable {
    var reason: String?
    var timestamp: Double?
  }

  /// Reads what the server sent; nothing in it can be too wrong: what is no JSON has no reason.
  package init(status: Int, body: [UInt8], date: String?, retryAfter: String?) {
    self.init(status: status)
    self.date = date.flatMap(HTTPDate.seconds)
    self.retryAfter = retryAfter.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
    guard !body.isEmpty, let read = try? JSONDecoder().decode(Body.self, from: Data(body)) else {
      return
    }
    reason = SafeText.cut(SafeText.escaped(read.reason ?? ""), to: ProviderLimits.reasonBytes)
    timestamp = read.timestamp.flatMap { UInt64(exactly: $0.rounded()) }
  }

  /// The reason that a GOAWAY frame carries; empty when it is none.
  package static func goawayReason(_ debug: [UInt8]) -> String {
    ProviderAnswer(
      status: 0, body: Array(debug.prefix(ProviderLimits.answerBytes)), date: nil, retryAfter: nil
    ).reason
  }
}

/// What an answer calls for: gateway.md's table, without what depends on time and on other pushes.
package enum AnswerClass: Hashable, Sendable {
  /// 200.
  case delivered
  /// The push was malformed.
  case ourFault
  /// The token may belong to the other environment.
  case badToken
  /// The token is of another app or kind.
  case wrongTopic
  /// No push will pass until somebody mends something.
  case stop
  /// The provider token is too old.
  case tokenExpired
  /// The device token is dead.
  case gone
  /// Too many pushes to this device.
  case deviceRate
  /// Too many new provider tokens.
  case tokenRate
  /// The server fails.
  case server

  /// The row of the table for a status and a reason.
  package init(status: Int, reason: String) {
    switch (status, reason) {
    case (200, _): self = .delivered
    case (400, "BadDeviceToken"): self = .badToken
    case (400, "DeviceTokenNotForTopic"): self = .wrongTopic
    case (400, "TopicDisallowed"): self = .stop
    case (403, "ExpiredProviderToken"): self = .tokenExpired
    case (401, _), (403, _): self = .stop
    case (410, _): self = .gone
    case (429, "TooManyProviderTokenUpdates"): self = .tokenRate
    case (429, _): self = .deviceRate
    case (500..., _): self = .server
    // The rest of 400, 404, 405, 413; and what no server of Apple's says: we asked wrongly.
    default: self = .ourFault
    }
  }

  /// What to mend after an answer that stops the provider.
  package static func cure(of reason: String) -> String {
    switch reason {
    case "InvalidProviderToken", "MissingProviderToken":
      "check that key file, key id and team id belong together, and the clock"
    case "TopicDisallowed": "check the bundle id: the key or certificate is not for it"
    case "Forbidden": "check that the key may be used for push in Apple's account"
    case "BadCertificate", "BadCertificateEnvironment":
      "check that the certificate is for push, for this environment, and not expired"
    default: "see Apple's account"
    }
  }
}

/// The date of HTTP (RFC 9110, section 5.6.7), in the one form that servers send.
package enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Seconds since 1970 of "Sun, 06 Nov 1994 08:49:37 GMT"; nil for anything else.
  package static func seconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard text.utf8.count == 29, parts.count == 6, parts[5] == "GMT", parts[0].hasSuffix(","),
      let day = Int64(parts[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(parts[2])),
      let year = Int64(parts[3]), (1970...9999).contains(year)
    else { return nil }
    let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) }
    guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    return days(year, Int64(month) + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  /// Days since 1970-01-01 of a day of the Gregorian calendar, years counted from March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month > 2 ? year : year - 1
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
