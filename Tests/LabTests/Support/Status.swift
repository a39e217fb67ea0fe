import Foundation

/// What `talkaround status --json` says, as far as the tests read it.
struct Status: Decodable, Sendable {
  struct Node: Decodable, Sendable {
    let id: String
    let name: String
    let port: Int
    let audio: Audio?
  }

  struct Audio: Decodable, Sendable {
    let capture: String?
    let playback: String?
  }

  struct Channel: Decodable, Sendable {
    let id: String
    let name: String
    let current: Bool
    let status: String
    let members: [Member]
    let floor: Floor
  }

  struct Member: Decodable, Sendable {
    let id: String
    let name: String
    let state: String
    let hearsMe: Bool
    let iHear: Bool
  }

  struct Floor: Decodable, Sendable {
    let state: String
    let holder: String?
    let place: Int?
    let queue: [String]?
  }

  let v: Int
  let node: Node
  let channels: [Channel]

  /// The channel that is talked on.
  var channel: Channel? { channels.first { $0.current } }

  static func parse(_ text: String) throws -> Status {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(Status.self, from: Data(text.utf8))
  }
}
