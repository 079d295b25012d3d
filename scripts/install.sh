#!/bin/sh
# Installs svc from a release: takes the archive for this machine from a URL or a folder, verifies its checksum, and puts the
# binary into a folder of your choice. When any check fails, nothing is installed.
#
#	sh install.sh FROM [TO]
#
# FROM is the folder or the http(s) URL with SHA256SUMS and the archives; TO defaults to ~/.local/bin.
set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

from=${1:-}
[ -n "$from" ] || fail "usage: sh install.sh FROM [TO]; FROM is the folder or address of a release"
to=${2:-$HOME/.local/bin}
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no release for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m)" ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() {
	case $from in
	http://* | https://*) curl -fsSL -o "$work/$1" "${from%/}/$1" || fail "cannot fetch ${from%/}/$1" ;;
	*) cp "$from/$1" "$work/$1" || fail "cannot read $from/$1" ;;
	esac
}

# SHA256SUMS names the archives as ./NAME or NAME; one of them is for this machine.
fetch SHA256SUMS
line=$(grep -E "^[0-9a-f]{64}  (\./)?svc-[^/]*-$os-$arch\.tar\.gz\$" "$work/SHA256SUMS") || fail "SHA256SUMS names no archive for $os/$arch"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "SHA256SUMS names several archives for $os/$arch"
want=${line%% *}
archive=${line##*/}
archive=${archive##* }
fetch "$archive"
if command -v sha256sum >/dev/null; then
	got=$(sha256sum "$work/$archive")
else
	got=$(shasum -a 256 "$work/$archive")
fi
[ "${got%% *}" = "$want" ] || fail "$archive does not have the checksum that SHA256SUMS names; nothing was installed"

tar -xzf "$work/$archive" -C "$work"
mkdir -p "$to"
# The binary is copied to another name first and then renamed. So its name never refers to an incomplete file, and a
# running binary is not overwritten.
cp "$work/${archive%.tar.gz}/svc" "$to/.svc.new"
chmod 755 "$to/.svc.new"
mv -f "$to/.svc.new" "$to/svc"
echo "installed $("$to/svc" --version) as $to/svc"
case ":$PATH:" in
*":$to:"*) ;;
*) echo "add it to the PATH of your shell: export PATH=\"$to:\$PATH\"" ;;
esac
command -v tmux >/dev/null || echo "a worker also needs tmux 3.3 or newer, from your system's packages"
echo "next: svc up"
