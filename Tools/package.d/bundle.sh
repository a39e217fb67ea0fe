# The bundle for sites without internet. Sourced by Tools/package.
# shellcheck shell=bash disable=SC2154

# What is installed beside what the package depends on, so that discovery and sound work; where a
# laptop has PipeWire, its apt leaves PulseAudio out. Nothing that must be of the same version as a
# package of the base system, such as libpam-systemd: laptops are at different updates.
bundle_extras=(avahi-daemon pulseaudio)

make_bundle() {
  local name=talkaround-$version-$architecture-bundle tree=$work/bundle cache=$work/debs
  local bundle=$output/$name.tar uris key
  mkdir -p "$cache"
  uris=$(bundle_uris)
  key=$({ cat "$parts/install.sh" "$parts/bundle.sh" "$deb" && echo "$uris"; } | sha256sum)
  if is_up_to_date "$bundle" "$key"; then return; fi
  download_missing "$uris" "$cache"

  rm -rf "$tree"
  mkdir -p "$tree/$name/packages"
  cp "$deb" "$tree/$name/packages"
  local file
  while read -r _ file _; do cp "$cache/$file" "$tree/$name/packages"; done <<<"$uris"
  (cd "$tree/$name/packages" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
  sed -e "s|@VERSION@|$version|g" -e "s|@ARCHITECTURE@|$architecture|g" "$parts/install.sh" \
    >"$tree/$name/install.sh"
  chmod 755 "$tree/$name/install.sh"
  (cd "$tree/$name" && sha256sum packages/* >SHA256SUMS)
  tar --create --file "$bundle.part" --directory "$tree" --sort=name --owner=0 --group=0 \
    --numeric-owner --mode=u+rw,go+rX,go-w --mtime "@$SOURCE_DATE_EPOCH" "$name"
  mv "$bundle.part" "$bundle"
  rm -rf "$tree"
  note_made "$bundle" "$key"
  say "made $bundle, $(wc -l <<<"$uris") Debian packages, $(size_of "$bundle")"
}

# A line `URI FILE SIZE HASH` for each Debian package beyond what every Debian 12 has: those that
# apt would install onto nothing, less those of the base system (priority required or important,
# with what they depend on). This machine's own packages do not count.
bundle_uris() {
  local base all
  mapfile -t base < <(apt-cache dumpavail | awk '
    /^Package: / { name = $2 }
    /^Priority: (required|important)/ && !seen[name]++ { print name }')
  [ ${#base[@]} -gt 20 ] || fail 69 "apt has no package lists; run: apt-get update"
  base_packages=$(onto_nothing "${base[@]}") || exit
  # shellcheck disable=SC2046
  all=$(onto_nothing "${base[@]}" "${bundle_extras[@]}" $(dependencies_of_deb)) || exit
  local wanted
  wanted=$(comm -13 <(sort -u <<<"$base_packages") <(sort -u <<<"$all"))
  # shellcheck disable=SC2086
  # From an empty folder: apt leaves out what it finds.
  (mkdir -p "$work/empty" && cd "$work/empty" && apt-get download --print-uris $wanted) |
    tr -d "'" | sort -k2
}

# The names that the package's dependencies begin with; apt finds what provides them.
dependencies_of_deb() {
  dpkg-deb --field "$deb" Depends | tr ',' '\n' | sed 's/^ *\([a-z0-9.+-]*\).*/\1/'
}

# What apt would install of these onto an empty system, as NAME=VERSION.
onto_nothing() { # PACKAGE…
  local empty=$work/empty-status answer
  : >"$empty"
  answer=$(apt-get --simulate --no-install-recommends -o Dir::State::status="$empty" \
    install "$@" 2>"$work/apt.log") ||
    fail 69 "apt cannot resolve the bundle: $(grep -m 1 '^E:' "$work/apt.log")"
  sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' <<<"$answer"
}

download_missing() { # URIS CACHE
  local file size missing=() total=0
  while read -r _ file size _; do
    [ "$(stat -c %s "$2/$file" 2>/dev/null)" = "$size" ] && continue
    missing+=("$(sed 's/^\([^_]*\)_\(.*\)_[^_]*$/\1=\2/; s/%3a/:/' <<<"$file")")
    total=$((total + size))
  done <<<"$1"
  [ ${#missing[@]} -gt 0 ] || return 0
  say "downloading ${#missing[@]} Debian packages, $((total / 1000000)) MB"
  (cd "$2" && apt-get download -q -q -o APT::Sandbox::User=root "${missing[@]}") ||
    fail 69 "cannot download from the Debian mirror; run apt-get update, or look at the network"
}
