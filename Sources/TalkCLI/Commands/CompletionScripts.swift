/// The completion scripts. Each finds the words before the cursor without options and their values,
/// and looks up what may follow.
extension CompletionGrammar {
  private static let origin = "made from the program's table of commands, by: talkaround completion"

  // MARK: bash

  var bash: String {
    let skipped = valueOptions.map(\.name).joined(separator: " | ")
    return """
      # bash completion for talkaround; \(Self.origin) bash
      _talkaround() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
        local typed='' word skip='' next='' options='' files='' index
        for ((index = 1; index < COMP_CWORD; index++)); do
          word=${COMP_WORDS[index]}
          if [[ $word == = ]]; then skip=yes
          elif [[ -n $skip ]]; then skip=''
          else
            case $word in
            \(skipped)) skip=yes ;;
            -*) ;;
            *) typed+="$word " ;;
            esac
          fi
        done
        [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}
        [[ $current == = ]] && current=''
        COMPREPLY=()
        case $previous in
      \(bashValues)
        esac
        case $typed in
      \(places.map(bashPlace).joined(separator: "\n"))
        esac
        if [[ $current == -* ]]; then
          mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        else
          mapfile -t COMPREPLY < <(compgen -W "$next" -- "$current")
          [[ -n $files ]] && compopt -o default
        fi
      }
      complete -F _talkaround talkaround
      """
  }

  private var bashValues: String {
    valueOptions.map { option in
      var words = option.value == .directories ? "compgen -d -- \"$current\"" : ""
      if option.value.takesFile { words = "compgen -f -- \"$current\"" }
      if !option.value.words.isEmpty {
        let list = option.value.words.joined(separator: " ")
        words = "compgen -W '\(list)' -- \"$current\"" + (words.isEmpty ? "" : "; \(words)")
      }
      let fill = words.isEmpty ? "" : "mapfile -t COMPREPLY < <(\(words)); "
      return "  \(option.name)) \(fill)return ;;"
    }.joined(separator: "\n")
  }

  private func bashPlace(_ place: Place) -> String {
    let next = place.next.map(\.word) + (place.argument?.words ?? [])
    let options = place.options.map(\.name).joined(separator: " ")
    let files = place.argument?.takesFile == true ? " files=yes" : ""
    let before = place.words.isEmpty ? "" : place.name + " "
    return "  '\(before)') next='\(next.joined(separator: " "))' options='\(options)'\(files) ;;"
      + (place.argument == nil ? "" : "\n  '\(before)'*) options='\(options)' ;;")
  }

  // MARK: zsh

  var zsh: String {
    let skipped = valueOptions.map(\.name).joined(separator: "|")
    return """
      #compdef talkaround
      # \(Self.origin) zsh
      _talkaround() {
        local typed='' word skip='' files='' index
        local -a next options
        for ((index = 2; index < CURRENT; index++)); do
          word=${words[index]}
          if [[ -n $skip ]]; then skip=''
          else
            case $word in
            (\(skipped)) skip=yes ;;
            (-*) ;;
            (*) typed+="$word " ;;
            esac
          fi
        done
        case ${words[CURRENT - 1]} in
      \(zshValues)
        esac
        case $typed in
      \(places.map(zshPlace).joined(separator: "\n"))
        esac
        if [[ ${words[CURRENT]} == -* ]]; then
          _describe -o option options
        else
          (( $#next )) && _describe command next
          [[ -n $files ]] && _files
        fi
      }
      _talkaround "$@"
      """
  }

  private var zshValues: String {
    valueOptions.map { option in
      var does = option.value == .directories ? "_directories; " : ""
      if !option.value.words.isEmpty {
        does += "compadd \(option.value.words.joined(separator: " ")); "
      }
      if option.value.takesFile { does += "_files; " }
      return "  (\(option.name)) \(does)return ;;"
    }.joined(separator: "\n")
  }

  private func zshPlace(_ place: Place) -> String {
    let next =
      place.next.map { Self.zshPair($0.word, $0.meaning) }
      + (place.argument?.words ?? []).map { Self.quoted($0) }
    let options = place.options.map { Self.zshPair($0.name, $0.help) }.joined(separator: " ")
    let files = place.argument?.takesFile == true ? " files=yes" : ""
    let before = place.words.isEmpty ? "" : place.name + " "
    return "  ('\(before)') next=(\(next.joined(separator: " "))) options=(\(options))\(files) ;;"
      + (place.argument == nil ? "" : "\n  ('\(before)'*) options=(\(options)) ;;")
  }

  private static func zshPair(_ word: String, _ meaning: String) -> String {
    quoted(word.split(separator: ":").joined(separator: "\\:") + ":" + meaning)
  }

  // MARK: fish

  var fish: String {
    let skipped = valueOptions.map(\.name).joined(separator: " ")
    let names = places.filter { !$0.words.isEmpty }.map { Self.quoted($0.name) }
    let lines = places.flatMap(fishPlace)
    return """
      # fish completion for talkaround; \(Self.origin) fish
      function __talkaround_typed
          set -l skip
          set -l typed
          for word in (commandline -opc)[2..]
              if set -q skip[1]
                  set -e skip
              else if contains -- $word \(skipped)
                  set skip yes
              else if not string match -q -- '-*' $word
                  set -a typed $word
              end
          end
          echo "$typed"
      end
      # True when exactly these words are typed.
      function __talkaround_at
          test (__talkaround_typed) = "$argv"
      end
      # True when the longest command that is typed is this one.
      function __talkaround_in
          set -l typed (__talkaround_typed)
          for name in \(names.joined(separator: " "))
              if string match -q -- "$name *" "$typed "
                  test "$name" = "$argv"
                  return
              end
          end
          test "$argv" = ''
      end
      complete -c talkaround -f
      \(lines.joined(separator: "\n"))
      """
  }

  private func fishPlace(_ place: Place) -> [String] {
    let name = Self.quoted(place.name, escaping: "\\")
    var lines = place.next.map { choice in
      "complete -c talkaround -n \(at(name)) -a \(choice.word) -d \(fishQuoted(choice.meaning))"
    }
    if let argument = place.argument {
      lines += argument.words.map { "complete -c talkaround -n \(at(name)) -a \($0)" }
      if argument.takesFile { lines.append("complete -c talkaround -n \(at(name)) -F") }
    }
    lines += place.options.map { option in
      var line = "complete -c talkaround -n \"__talkaround_in \(name)\""
      line += " -l \(option.name.dropFirst(2))"
      if let value = option.value.map(Value.init(named:)) {
        let words = value.words.isEmpty ? "" : " -a '\(value.words.joined(separator: " "))'"
        line += (value.takesFile || value == .directories ? " -r -F" : " -x") + words
      }
      return line + " -d \(fishQuoted(option.help))"
    }
    return lines
  }

  private func at(_ name: String) -> String { "\"__talkaround_at \(name)\"" }

  private func fishQuoted(_ text: String) -> String { Self.quoted(text, escaping: "\\") }

  /// In single quotes: a quote inside ends them, stands escaped, and begins them again.
  private static func quoted(_ text: String, escaping: String = "'\\'") -> String {
    let parts = text.split(separator: "'", omittingEmptySubsequences: false)
    return "'" + parts.joined(separator: escaping == "\\" ? "\\'" : "'\\''") + "'"
  }
}
