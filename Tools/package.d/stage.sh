# The program, and the files of the package. Sourced by Tools/package, which sets the variables.
# shellcheck shell=bash disable=SC2154

program=

build_program() {
  local log=$work/build.log began=$SECONDS
  say "building (some minutes the first time)"
  # The runtime within the program: laptops have no toolchain of 3 GB.
  if ! swift build -c release --product talkaround --static-swift-stdlib --scratch-path "$work" \
    >"$log" 2>&1; then
    grep -m 5 'error:' "$log" >&2 || tail -5 "$log" >&2
    fail 69 "the build failed; the whole log is $log"
  fi
  program=$(swift build -c release --scratch-path "$work" --show-bin-path)/talkaround
  if readelf -d "$program" | grep -q 'NEEDED.*libswift\|NEEDED.*libFoundation'; then
    fail 69 "$program needs Swift's shared libraries: it would not start on a laptop"
  fi
  say "built in $((SECONDS - began)) s"
}

# Puts what goes onto the laptop under ROOT.
stage_files() { # ROOT
  local root=$1 documents=$1/usr/share/doc/talkaround size
  install -D "$program" "$root/usr/bin/talkaround"
  strip --remove-section=.comment --remove-section=.note "$root/usr/bin/talkaround"

  install_file talkaround.service "$root/usr/lib/systemd/user/talkaround.service"
  install_file talkaround.desktop "$root/usr/share/applications/talkaround.desktop"
  install_file 70-talkaround.rules "$root/usr/lib/udev/rules.d/70-talkaround.rules"
  install_file ufw.profile "$root/etc/ufw/applications.d/talkaround"
  install_file firewalld.xml "$root/usr/lib/firewalld/services/talkaround.xml"
  install_file talkaround.svg "$root/usr/share/icons/hicolor/scalable/apps/talkaround.svg"
  local profile
  for profile in Profiles/*.json5; do
    [ ! -e "$profile" ] ||
      install -D -m 644 "$profile" "$root/usr/share/talkaround/profiles/$(basename "$profile")"
  done
  for size in 32 48 64 128 256; do
    mkdir -p "$root/usr/share/icons/hicolor/${size}x$size/apps"
    rsvg-convert -w "$size" -h "$size" "$parts/talkaround.svg" \
      -o "$root/usr/share/icons/hicolor/${size}x$size/apps/talkaround.png"
  done

  generate bash "$root/usr/share/bash-completion/completions/talkaround"
  generate zsh "$root/usr/share/zsh/vendor-completions/_talkaround"
  generate fish "$root/usr/share/fish/vendor_completions.d/talkaround.fish"
  mkdir -p "$root/usr/share/man/man1" "$documents"
  "$program" manual |
    sed "1s/\"\"/\"$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)\"/" |
    gzip -9n >"$root/usr/share/man/man1/talkaround.1.gz"

  install_file copyright "$documents/copyright"
  {
    echo "talkaround ($version) bookworm; urgency=medium"
    echo
    echo "  * Made from $(git describe --always --dirty 2>/dev/null || echo 'a source tree')."
    echo
    echo " -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
  } | gzip -9n >"$documents/changelog.gz"
}

install_file() { install -D -m 644 "$parts/$1" "$2"; }

generate() { # SHELL FILE
  mkdir -p "$(dirname "$2")"
  "$program" completion "$1" >"$2"
  # A shell that is here checks its own.
  if command -v "$1" >/dev/null; then
    "$1" -n "$2" || fail 69 "the completion for $1 has a fault; see $2"
  fi
}
