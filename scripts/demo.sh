#!/bin/sh
# Two minutes with Haulage, all on this machine: a wide-area link with faults, a tree of files there
# and back, and the proof that every byte arrived.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
rm -rf demo
mkdir -p demo/data/many

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
try() { printf '$ %s\n' "$*"; "$@"; }

head -c 64M /dev/urandom >demo/data/large.bin
for n in $(seq 200); do head -c 16K /dev/urandom >"demo/data/many/$n.bin"; done

say "An endpoint 60 ms away, 20 Mbit/s a connection, that answers 503 and cuts connections"
haul emulate --listen 127.0.0.1:0 --link wan --faults busy=2%,cut=2%,seed=7 --json >demo/endpoint.json &
endpoint=$!
trap 'kill $endpoint 2>/dev/null || true' EXIT
while ! [ -s demo/endpoint.json ]; do
    kill -0 $endpoint
    sleep 0.1
done
AZURE_STORAGE_CONNECTION_STRING=$(python -c 'import json; print(json.loads(open("demo/endpoint.json").readline())["connection_string"])')
export AZURE_STORAGE_CONNECTION_STRING
try haul mb az://demo

say "What would happen"
try haul plan demo/data az://demo/data/
say "Up, with a row for every attempt"
try haul cp demo/data az://demo/data/ --record demo/up.parquet
say "Again: everything is there already"
try haul cp demo/data az://demo/data/
say "Down, and compared byte by byte"
try haul cp az://demo/data/ demo/back
try diff -r demo/data demo/back
say "Compared by checksum, by the engine"
try haul verify demo/data az://demo/data/
say "Where the time went"
python - <<'EOF'
import duckdb

print(duckdb.sql("""
    select api, fate, count(*) attempts, sum(size_bytes) // 1048576 mib,
        (median(sent_ns - connected_ns) / 1e6)::int sending_ms,
        (median(first_byte_ns - sent_ns) / 1e6)::int waiting_ms
    from 'demo/up.parquet' where api is not null group by all order by attempts desc
"""))
EOF
