#!/bin/sh
# Installs Talkaround @VERSION@ from this folder. Needs no internet.
set -eu

usage() {
  echo "sudo ./install.sh"
  echo "  Installs Talkaround @VERSION@ on this Debian 12 (@ARCHITECTURE@) laptop, from this folder"
  echo "  alone. Again, or over an older one, does no harm."
}

fail() { # CODE MESSAGE
  code=$1
  shift
  echo "install.sh: $*" >&2
  exit "$code"
}

case ${1-} in
'') ;;
--help | -h) usage && exit 0 ;;
*) usage >&2 && exit 64 ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || fail 77 "needs root: sudo $0"
command -v apt-get >/dev/null || fail 69 "this is not Debian: there is no apt-get"
[ "$(dpkg --print-architecture)" = @ARCHITECTURE@ ] ||
  fail 69 "this laptop is $(dpkg --print-architecture); the bundle is for @ARCHITECTURE@"
release=$(. /etc/os-release && echo "${VERSION_ID-}")
[ "${release:-99}" -ge 12 ] 2>/dev/null || fail 69 "this is Debian $release; needs 12 or newer"
(cd "$here" && sha256sum --check --quiet --strict SHA256SUMS) ||
  fail 69 "a file of the bundle is damaged; copy it once more"

# apt sees this folder and what is installed, nothing else, and keeps its own lists as they are.
# The folder's own path may hold what apt's lists cannot.
scratch=$(mktemp -d /tmp/talkaround-install.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/lists/partial" "$scratch/archives/partial"
ln -s "$here/packages" "$scratch/packages"
echo "deb [trusted=yes] file:$scratch/packages ./" >"$scratch/sources.list"
apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -q -y \
    -o Dir::Etc::sourcelist="$scratch/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$scratch/lists" -o Dir::Cache::archives="$scratch/archives" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
    -o Dpkg::Use-Pty=0 "$@"
}
echo "install.sh: installing Talkaround @VERSION@"
apt update || fail 69 "apt cannot read $here/packages"
apt install talkaround=@VERSION@ </dev/null ||
  fail 69 "apt could not install; what it said is above"
echo "install.sh: installed. Start it with: talkaround"
