/// The reference of every key, made from the table of keys.
package enum ProfileReference {
  /// The article `TalkKit.docc/Profiles.md`, which is this text.
  package static var article: String {
    head + ProfileKey.all.flatMap(section).joined(separator: "\n") + "\n"
  }

  private static var head: String {
    """
    # Profiles

    The settings of a node: where profiles are, how they are written, every key.

    <!-- Made by `talkaround config reference`; a test says when it is out of date. -->

    ## Overview

    A profile is a file in JSON5 with settings for one computer. `--profile NAME|FILE` chooses one;
    without it `\(ProfileFinder.defaultName)` is taken, which needs no file. Options of the command
    line win over the profile, and the profile over the defaults.

    A name is looked for, with `\(ProfileFinder.suffix)` behind it, in

    1. `$XDG_CONFIG_HOME/talkaround/profiles`, or `~/.config/talkaround/profiles`: your own;
    2. `Profiles` of the checkout that the program was built in;
    3. `share/talkaround/profiles` beside the program's `bin`;
    4. `/usr/share/talkaround/profiles`.

    | command | does |
    |---|---|
    | `talkaround config check [FILE or NAME]` | says what is wrong: file, line, column, key, cure |
    | `talkaround config show` | what a node would use, and where each value comes from |
    | `talkaround config reference` | this article |

    An unknown key, a value out of range and a key that is there twice are errors, each with its
    line; the exit code is 78. A profile is a plain file and no link, in UTF-8, of at most
    \(JSON5Reader.sizeLimit / 1_024) KiB, and nests at most \(JSON5Reader.depthLimit) deep. `null` \
    means that the node decides.

    ```
    {
      // Comments, single quotes, trailing commas and bare keys are fine.
      capture: 'pulse',
      tones: { volume: 6, play: ['permit', 'busy', 'unheard'] },
    }
    ```

    ## Keys

    `tones.volume` is the key `volume` in the object `tones`.

    """
  }

  private static func section(_ key: ProfileKey) -> [String] {
    let values = key.values.replacing("\"", with: "`")
    let unit = key.unit.isEmpty ? "" : ", in \(key.unit)"
    let option = key.option.map { ["- option: `\($0)`"] } ?? []
    return [
      "", "### \(key.name)", "", key.meaning, "",
      "- values: \(values)\(unit)",
      "- default: `\(key.initial.written)`",
    ] + option
  }
}
