#!/bin/sh
# Debian packages that the tests need and pip, npm and cargo cannot bring. Only what is missing is
# installed, and only as root; elsewhere this says what to install.
set -eu

missing=""
# AzCopy is linked against it, though it keeps no secret here.
ldconfig -p 2>/dev/null | grep -q 'libsecret-1\.so\.0' || missing="$missing libsecret-1-0"
# Reports are opened in a real browser.
command -v chromium >/dev/null || missing="$missing chromium"
# Shows in what order files are written, flushed and reported.
command -v strace >/dev/null || missing="$missing strace"
# The engine's TLS is compiled from C.
command -v cc >/dev/null || missing="$missing gcc libc6-dev"

[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "missing:$missing" >&2
    echo "hint: sudo apt-get install$missing" >&2
    exit 1
fi
apt-get update -qq
# shellcheck disable=SC2086  # several packages
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
