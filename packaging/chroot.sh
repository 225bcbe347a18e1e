#!/bin/sh
# Makes the root of a small Debian machine without compilers: `packaging/chroot.sh SUITE FOLDER [PACKAGE...]`. Needs root and
# debootstrap; nothing outside FOLDER changes.
set -eu
suite=$1 folder=$2
shift 2
if [ "$(id -u)" != 0 ]; then
    echo "a root of its own needs root" >&2
    exit 97
fi
command -v debootstrap >/dev/null || {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap
}
rm -rf "$folder" "$folder.new"
mkdir -p "$(dirname "$folder")"
include=$(echo "$*" | tr ' ' ',')
# Its mounts are gone with it.
unshare --mount debootstrap --variant=minbase ${include:+--include="$include"} "$suite" "$folder.new" \
    http://deb.debian.org/debian >"$folder.log" 2>&1 || {
    tail -n 5 "$folder.log" >&2
    exit 1
}
rm -rf "$folder.new"/var/cache/apt/archives/*.deb "$folder.new"/var/lib/apt/lists/*
mv "$folder.new" "$folder"
