// swift-tools-version: 6.3
import PackageDescription

/// The settings that every target of ours is built with.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableExperimentalFeature("Lifetimes"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, resources: resources,
    swiftSettings: [
      .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"),
      .treatAllWarnings(as: .error),
    ])
}

let package = Package(
  name: "Talkaround",
  products: [
    .library(name: "TalkKit", targets: ["TalkKit"]),
    .executable(name: "talkaround", targets: ["TalkCLI"]),
  ],
  targets: [
    // C libraries of Debian 12, one each; CLinux shows what Swift's Glibc module does not.
    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
    .systemLibrary(name: "CPulse"),
    .systemLibrary(name: "CSndfile"),
    .systemLibrary(name: "CAvahi"),
    .systemLibrary(
      name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "CLinux"),

    // The pure set: no I/O, no clock, no randomness of its own.
    module("TalkCore", []),
    module("TalkCrypto", ["TalkCore", "CSodium"]),
    module("TalkWire", ["TalkCore"]),
    module("TalkSession", ["TalkCore", "TalkCrypto", "TalkWire"]),
    module("TalkFloor", ["TalkCore", "TalkCrypto", "TalkWire"]),
    module("TalkMesh", ["TalkCore", "TalkCrypto", "TalkWire"]),
    module("TalkVoice", ["TalkCore", "TalkWire", "COpus"]),
    module(
      "TalkNode",
      ["TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkFloor", "TalkMesh", "TalkVoice"]),
    module(
      "TalkSim",
      [
        "TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkFloor", "TalkMesh", "TalkVoice",
        "TalkNode",
      ]),

    // The edges: each touches one part of the world.
    module("TalkNet", ["TalkCore", "CLinux"]),
    module("TalkAudio", ["TalkCore", "CPulse", "CSndfile", "CLinux"]),
    module("TalkDiscovery", ["TalkCore", "TalkNet", "CAvahi"]),
    module("TalkStore", ["TalkCore", "TalkCrypto"]),
    module(
      "TalkGateway",
      [
        "TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkVoice", "TalkNet", "CNGHTTP2",
        "COpenSSL", "CSQLite",
      ]),

    // The shell, and the command.
    module(
      "TalkKit",
      [
        "TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkFloor", "TalkMesh", "TalkVoice",
        "TalkNode", "TalkNet", "TalkAudio", "TalkDiscovery", "TalkStore", "CLinux",
      ]),
    .executableTarget(
      name: "TalkCLI", dependencies: ["TalkCore", "TalkKit", "TalkSim"], swiftSettings: strict),

    // What Tools/apns-rate measures.
    .executableTarget(
      name: "apns-rate-client", dependencies: ["TalkCore", "TalkNet", "TalkGateway"],
      path: "Tools/apns-rate.d", swiftSettings: [.swiftLanguageMode(.v6)]),

    // Counts allocations in tests, by standing in for malloc in the test program.
    .target(name: "CAllocationProbe", path: "Tests/CAllocationProbe"),
    // Enters network namespaces in tests.
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    tests("TalkCoreTests", ["TalkCore"]),
    tests(
      "TalkCryptoTests", ["TalkCore", "TalkCrypto", "CSodium"]),
    tests("TalkWireTests", ["TalkCore", "TalkWire"]),
    tests(
      "TalkSessionTests",
      ["TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "CAllocationProbe"],
      resources: [.copy("Vectors")]),
    tests(
      "TalkSimTests", ["TalkCore", "TalkCrypto", "TalkWire", "TalkFloor", "TalkSim"]),
    tests("TalkFloorTests", ["TalkCore", "TalkCrypto", "TalkWire", "TalkFloor", "TalkSim"]),
    tests(
      "TalkMeshTests", ["TalkCore", "TalkCrypto", "TalkWire", "TalkMesh", "CAllocationProbe"]),
    tests("TalkVoiceTests", ["TalkCore", "TalkWire", "TalkVoice", "CAllocationProbe"]),
    tests(
      "TalkNodeTests",
      [
        "TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkFloor", "TalkMesh", "TalkVoice",
        "TalkNode", "TalkSim", "CAllocationProbe",
      ]),
    tests("TalkNetTests", ["TalkCore", "TalkNet", "CLinux", "CAllocationProbe", "CTestSupport"]),
    tests("TalkAudioTests", ["TalkCore", "TalkAudio", "CLinux", "CAllocationProbe"]),
    tests("TalkDiscoveryTests", ["TalkCore", "TalkNet", "TalkDiscovery", "CTestSupport"]),
    tests("TalkStoreTests", ["TalkCore", "TalkCrypto", "TalkStore"]),
    tests(
      "TalkKitTests",
      ["TalkCore", "TalkWire", "TalkStore", "TalkAudio", "TalkNet", "TalkKit", "TalkCLI"]),
    tests(
      "TalkGatewayTests",
      [
        "TalkCore", "TalkCrypto", "TalkWire", "TalkSession", "TalkVoice", "TalkNet", "TalkGateway",
      ]),
    tests("ProjectTests", []),
    tests("LabTests", []),
  ]
)
