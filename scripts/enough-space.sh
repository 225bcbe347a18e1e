#!/bin/sh
# Stops at once, where tests would fail by the hundred after a while: enough-space.sh GIB FOLDER ...
set -eu
needed=$1
shift
for folder; do
    free=$(df -Pk "$folder" | awk 'NR == 2 {print int($4 / 1048576)}')
    [ "$free" -ge "$needed" ] && continue
    echo "$folder: $free GiB are free, and the tests need $needed" >&2
    echo "hint: remove what you can spare, or choose another folder for files of the tests with TMPDIR" >&2
    exit 1
done
