#!/bin/sh
# Runs two commands at once: beside.sh LOG BEHIND COMMAND. What BEHIND prints is kept in LOG and shown when both have ended; it
# stands behind COMMAND in the queue for the processors. Fails where either of them did.
set -eu
log=$1 behind=$2 command=$3

nice -n 5 sh -c "$behind" >"$log" 2>&1 </dev/null &
other=$!
# Make ends what it has begun when it is told to.
trap 'kill $other 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

failed=0
sh -c "$command" || failed=$?
ended=0
wait $other || ended=$?
trap - EXIT
cat "$log"
[ "$ended" = 0 ] || echo "failed: $behind" >&2
[ "$failed" = 0 ] || echo "failed: $command" >&2
[ "$failed" = 0 ] && [ "$ended" = 0 ]
