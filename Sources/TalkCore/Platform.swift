import Glibc

/// The few functions that the pure set takes from the C library: mathematics. Nothing else in it
/// imports Glibc, so nothing in it can reach a clock, a file or a socket.
public enum Platform {
  /// sin(3).
  public static func sine(_ x: Double) -> Double { Glibc.sin(x) }
  /// cos(3).
  public static func cosine(_ x: Double) -> Double { Glibc.cos(x) }
  /// log(3): the natural logarithm.
  public static func logarithm(_ x: Double) -> Double { Glibc.log(x) }
  /// log10(3).
  public static func decimalLogarithm(_ x: Double) -> Double { Glibc.log10(x) }
  /// pow(3).
  public static func power(_ x: Double, _ y: Double) -> Double { Glibc.pow(x, y) }
}
