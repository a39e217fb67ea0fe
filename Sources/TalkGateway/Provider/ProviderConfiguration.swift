package import TalkCore
package import TalkNet

/// Where pushes go, and in whose name.
package struct ProviderConfiguration: Hashable, Sendable {
  /// What Apple knows us by.
  package enum Credential: Hashable, Sendable {
    /// A signing key of Apple's account (a .p8 file) with its ten-character ids.
    case key(file: String, keyID: String, teamID: String)
    /// A certificate and its private key, both PEM.
    case certificate(file: String, keyFile: String)
  }

  /// The app's bundle id, which topics are made of.
  package var bundle: String
  /// What Apple knows us by.
  package var credential: Credential
  /// Apple's host in the sandbox; nil: no pushes for development builds.
  package var sandbox: HostAndPort?
  /// Apple's host in production; nil: none for TestFlight and the App Store.
  package var production: HostAndPort?
  /// A PEM file of the authorities to trust, in place of the system's; for tests.
  package var authorities: String?
  /// The most streams on one connection.
  package var streams: Int

  /// A configuration; the hosts are Apple's unless others are given.
  package init(
    bundle: String, credential: Credential,
    sandbox: HostAndPort? = try? HostAndPort("api.sandbox.push.apple.com:443"),
    production: HostAndPort? = try? HostAndPort("api.push.apple.com:443"),
    authorities: String? = nil, streams: Int = ProviderLimits.streams
  ) {
    (self.bundle, self.credential) = (bundle, credential)
    (self.sandbox, self.production) = (sandbox, production)
    (self.authorities, self.streams) = (authorities, streams)
  }

  /// The host of an environment.
  package func host(_ environment: Push.Environment) -> HostAndPort? {
    environment == .sandbox ? sandbox : production
  }

  /// Refuses what Apple would refuse, before the first push.
  func check() throws(ProviderError) {
    let allowed = bundle.utf8.allSatisfy { byte in
      Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber
        || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }
    guard bundle.contains("."), bundle.utf8.count <= 200, allowed, bundle.allSatisfy(\.isASCII)
    else { throw .badBundle(bundle) }
    guard case .key(_, let keyID, let teamID) = credential else { return }
    for (name, id) in [("key id", keyID), ("team id", teamID)] {
      guard id.utf8.count == 10, id.allSatisfy({ $0.isASCII && ($0.isUppercase || $0.isNumber) })
      else { throw .badID(name: name, value: id) }
    }
  }
}

/// Why no provider can be made of a configuration; each is for the gateway's owner to mend.
package enum ProviderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bundle id is none.
  case badBundle(String)
  /// A key id or a team id is none.
  case badID(name: String, value: String)
  /// The file cannot be read; `code` is the errno.
  case unreadable(file: String, code: Int32)
  /// The file is no private key of the kind that Apple gives.
  case badKey(file: String)
  /// The certificate, its key, or the file of authorities cannot be used; `why` is OpenSSL's word.
  case badCertificate(file: String, why: String)
  /// A resource of the machine's is missing.
  case system(String)

  /// One line for a person, with the cure.
  package var description: String {
    switch self {
    case .badBundle(let text):
      "\"\(SafeText.escaped(text))\" is no bundle id: write it as in Xcode, like org.example.app"
    case .badID(let name, let value):
      "\"\(SafeText.escaped(value))\" is no \(name): it has ten capital letters and digits"
    case .unreadable(let file, let code):
      "cannot read \(SafeText.escaped(file)) (errno \(code)): check its path and its permissions"
    case .badKey(let file):
      "\(SafeText.escaped(file)) holds no P-256 private key: use the .p8 file from Apple's account"
    case .badCertificate(let file, let why):
      "cannot use \(SafeText.escaped(file)) (\(why)): it must be PEM, and fit its private key"
    case .system(let what): "cannot start sending pushes: \(what)"
    }
  }
}

/// The time, for what stands outside the machines.
package protocol ProviderClock: Sendable {
  /// CLOCK_BOOTTIME.
  func now() -> Instant
  /// The wall clock, in seconds since 1970.
  func unix() -> UInt64
}
