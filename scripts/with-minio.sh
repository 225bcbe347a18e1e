#!/bin/sh
# Runs a command with MinIO beside it, named by HAUL_TEST_MINIO; its keys are in the usual variables of AWS, the same as those of
# scripts/with-versitygw.sh.
set -eu
cd "$(dirname "$0")/.."
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Not the memory file systems, which it refuses.
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/haul-minio.XXXXXX")
export AWS_ACCESS_KEY_ID=haul-test AWS_SECRET_ACCESS_KEY=haul-test-secret AWS_EC2_METADATA_DISABLED=true
# Nothing of the machine's own configuration, and no look for a newer version.
env -i PATH="$PATH" HOME="$folder" MINIO_ROOT_USER="$AWS_ACCESS_KEY_ID" MINIO_ROOT_PASSWORD="$AWS_SECRET_ACCESS_KEY" \
    MINIO_BROWSER=off MINIO_UPDATE=off \
    build/tests/bin/minio server --quiet --address "127.0.0.1:$port" "$folder/data" >"$folder.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$folder" "$folder.log"' EXIT INT TERM
tries=0
until python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/minio/health/ready', timeout=1)" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || { cat "$folder.log" >&2; exit 1; }
    sleep 0.2
done
export HAUL_TEST_MINIO="http://127.0.0.1:$port"
"$@"
