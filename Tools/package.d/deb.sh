# The .deb. Sourced by Tools/package.
# shellcheck shell=bash disable=SC2154

deb=

make_deb() {
  local name=talkaround_${version}_$architecture.deb key root=$work/root
  deb=$output/$name
  key=$(deb_key)
  if is_up_to_date "$deb" "$key"; then return; fi
  rm -rf "$root"
  mkdir -p "$root/DEBIAN"
  stage_files "$root"
  write_control "$root"
  find "$root" -print0 | xargs -0 touch --no-dereference --date "@$SOURCE_DATE_EPOCH"
  chmod -R u+rwX,go+rX,go-w "$root"
  dpkg-deb --root-owner-group -Zxz -z9 --build "$root" "$deb.part" >/dev/null
  mv "$deb.part" "$deb"
  rm -rf "$root"
  note_made "$deb" "$key"
  say "made $deb, $(size_of "$deb")"
}

# What the package is made of: when none of it has changed, neither has the package.
deb_key() {
  {
    echo "$version $architecture $maintainer $SOURCE_DATE_EPOCH"
    find Profiles "$parts" -type f -print0 2>/dev/null | sort -z | xargs -0 cat
    cat "$program" "$here/package"
  } | sha256sum | cut -d' ' -f1
}

# A file that was made from what has this key, and has not changed since.
is_up_to_date() { # FILE KEY
  [ -e "$1" ] && [ "$(cat "$(key_file "$1")" 2>/dev/null)" = "$2 $(digest "$1")" ] || return 1
  say "up to date: $1"
}

note_made() { echo "$2 $(digest "$1")" >"$(key_file "$1")"; } # FILE KEY

key_file() { echo "$work/$(basename "$1").key"; }

digest() { sha256sum <"$1" | cut -d' ' -f1; }

size_of() { echo "$(($(stat -c %s "$1") * 10 / 1000000))" | sed 's/.$/.& MB/; s/^\./0./'; }

write_control() { # ROOT
  local root=$1 depends size
  mkdir -p "$work/debian"
  printf 'Source: talkaround\n\nPackage: talkaround\nArchitecture: any\n' >"$work/debian/control"
  depends=$(cd "$work" && dpkg-shlibdeps -O -e"$root/usr/bin/talkaround" 2>"$work/shlibdeps.log") ||
    fail 69 "dpkg-shlibdeps failed: $(tail -1 "$work/shlibdeps.log")"
  depends=${depends#shlibs:Depends=}
  size=$(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)
  sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@SIZE@|$size|" \
    -e "s|@MAINTAINER@|$maintainer|" -e "s|@DEPENDS@|$depends|" \
    "$parts/control.in" >"$root/DEBIAN/control"
  install -m 755 "$parts/postinst" "$parts/postrm" "$root/DEBIAN"
  echo /etc/ufw/applications.d/talkaround >"$root/DEBIAN/conffiles"
  (cd "$root" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
}
