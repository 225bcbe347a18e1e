#!/bin/sh
# Runs a command with an S3 server beside it, named by HAUL_TEST_VERSITYGW; its keys are in the usual variables of AWS.
set -eu
cd "$(dirname "$0")/.."
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Not the memory file systems, some of which lack the attributes that it keeps with files.
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/haul-versitygw.XXXXXX")
build/tests/bin/versitygw --access haul-test --secret haul-test-secret --port "127.0.0.1:$port" --quiet \
    posix --disableotmp "$folder" >"$folder.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$folder" "$folder.log"' EXIT INT TERM
tries=0
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { cat "$folder.log" >&2; exit 1; }
    sleep 0.2
done
export HAUL_TEST_VERSITYGW="http://127.0.0.1:$port"
export AWS_ACCESS_KEY_ID=haul-test AWS_SECRET_ACCESS_KEY=haul-test-secret AWS_EC2_METADATA_DISABLED=true
"$@"
