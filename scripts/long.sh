#!/bin/sh
# Everything that takes too long for every change, in a clone of what is committed, with nothing compiled before: build/long.
# A step that fails does not keep the others from running. It needs root for clusters and packages, and says so first.
set -u
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "make long needs root: for clusters and for packages in chroots" >&2; exit 1; }
rm -rf build/long && git clone --quiet . build/long && cd build/long || exit 1
unset CARGO_TARGET_DIR VIRTUAL_ENV MAKEFLAGS

failed=""
said=""
for step in demo test check must-show campaign movers conformance peers-suites lab-statistics test-clusters carry test-packages; do
    began=$(date +%s)
    if make --no-print-directory "$step"; then word=passed; else word=FAILED failed="$failed $step"; fi
    said="$said$(printf '\n%-16s %-7s %6d s' "$step" "$word" $(($(date +%s) - began)))"
done
echo "$said"
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
