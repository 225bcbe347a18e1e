#!/bin/sh
# Runs fuzz targets one after the other: fuzz.sh [SECONDS [TARGET...]]; without names all of them.
# Whatever stops a target is in fuzz/artifacts; fuzz.sh 0 TARGET artifacts/TARGET/FILE runs that one again.
set -eu
cd "$(dirname "$0")/../fuzz"

HOST=$(rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz passes, so that neither it nor a nightly is needed. For the target alone: build scripts stay as they are.
FLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
export RUSTFLAGS="$FLAGS"
BINARIES="${CARGO_TARGET_DIR:-target}/$HOST/release"
cargo build --release --locked --target "$HOST" --bins

if [ $# -eq 3 ] && [ -f "$3" ]; then
    exec "$BINARIES/$2" "$3"
fi
SECONDS_EACH=${1:-600}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(ls fuzz_targets | sed 's/\.rs$//')
for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    # 512 MiB in all, 64 MiB at once: far more than any of the inputs is worth.
    "$BINARIES/$target" -max_total_time="$SECONDS_EACH" -max_len=8192 -timeout=10 -rss_limit_mb=512 \
        -malloc_limit_mb=64 -print_final_stats=1 -dict=dictionary -artifact_prefix="artifacts/$target/" \
        "corpus/$target" "seeds/$target"
done
