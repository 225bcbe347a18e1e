#!/bin/sh
# Runs a command with Azurite's Blob service beside it, named by HAUL_TEST_AZURITE.
#
# --loose, because in its strict mode it refuses the CRC64 headers that the real service checks.
set -eu
cd "$(dirname "$0")/.."
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
node build/node/node_modules/azurite/dist/src/blob/main.js --blobHost 127.0.0.1 --blobPort "$port" \
    --inMemoryPersistence --loose --skipApiVersionCheck --disableTelemetry --silent &
server=$!
trap 'kill $server' EXIT INT TERM
tries=0
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "Azurite does not answer" >&2; exit 1; }
    sleep 0.2
done
export HAUL_TEST_AZURITE="http://127.0.0.1:$port/devstoreaccount1"
"$@"
