#!/bin/sh
# Puts locked Python packages into a virtual environment: python-packages.sh VENV LOCK. With uv, for pip takes minutes to compile
# what it has fetched, one module after another. uv knows nothing of pip's configuration, so an index of your own is passed on to
# it; where uv is not to be had, or does not get through, pip does all.
set -eu
venv=$1 lock=$2
UV=uv==0.13.9

setting() {
    "$venv/bin/pip" config get ":env:.$1" 2>/dev/null || "$venv/bin/pip" config get "global.$1" 2>/dev/null || true
}

index=$(setting index-url)
links=$(setting find-links)
if [ -n "$index" ]; then export UV_DEFAULT_INDEX="$index"; fi
if [ -n "$links" ]; then export UV_FIND_LINKS="$links"; fi
if "$venv/bin/pip" install --quiet "$UV" && VIRTUAL_ENV=$venv "$venv/bin/uv" pip install --quiet --no-cache --compile-bytecode \
    --requirement "$lock"; then
    exit 0
fi
echo "uv did not install $lock; pip does, which takes minutes" >&2
exec "$venv/bin/pip" install --quiet --requirement "$lock"
