#!/bin/sh
# Puts locked Python packages into a virtual environment: python-packages.sh VENV LOCK [--compile-bytecode]. With uv, for pip takes
# minutes. uv knows nothing of pip's configuration, so an index of your own is passed on to it; where uv does not get through, pip
# does all. Without the last word Python compiles what it loads, when it loads it: less to keep, and later starts are as quick.
set -eu
venv=$1 lock=$2
shift 2
tools=build/tools

setting() {
    "$tools/bin/pip" config get ":env:.$1" 2>/dev/null || "$tools/bin/pip" config get "global.$1" 2>/dev/null || true
}

index=$(setting index-url)
links=$(setting find-links)
if [ -n "$index" ]; then export UV_DEFAULT_INDEX="$index"; fi
if [ -n "$links" ]; then export UV_FIND_LINKS="$links"; fi
if "$tools/bin/uv" pip install --quiet --no-cache --python "$venv/bin/python" "$@" --requirement "$lock"; then exit 0; fi
echo "uv did not install $lock; pip does, which takes minutes" >&2
exec "$tools/bin/pip" --python "$venv/bin/python" install --quiet --requirement "$lock"
