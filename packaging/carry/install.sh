#!/bin/sh
# Installs Haulage from the folder that this script is in. It connects to nothing.
set -eu

usage() {
    cat <<'END'
Usage: sh install.sh [--command] [--extras LIST] DIR

Installs Haulage into DIR, which is made if it is not there. Everything comes from this folder; nothing is downloaded.

  --command        only the command, without Python: DIR/bin/haul, manual pages and completions
  --extras LIST    extras of the Python package, such as lab,watch,tables, or none  [default: all]
  --no-check       do not compare the files with SHA256SUMS

Set PYTHON to use another Python than python3.
END
}
fail() {
    echo "install.sh: $1" >&2
    exit 1
}

command='' extras=all check=yes target=
while [ $# -gt 0 ]; do
    case $1 in
    --command) command=yes ;;
    --extras)
        [ $# -gt 1 ] || fail "--extras needs a list, such as lab,watch"
        extras=$2
        shift
        ;;
    --no-check) check= ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*) fail "no such option: $1 (hint: sh install.sh --help)" ;;
    *)
        [ -z "$target" ] || fail "more than one folder: $target and $1"
        target=$1
        ;;
    esac
    shift
done
if [ -z "$target" ]; then
    usage >&2
    exit 2
fi
case $target in /*) ;; *) target=$PWD/$target ;; esac
cd "$(dirname "$0")"

if [ -n "$check" ]; then
    sha256sum --quiet --check SHA256SUMS >&2 || fail "this folder is damaged or was changed (hint: copy it again)"
fi

if [ -n "$command" ]; then
    set -- packages/haulage-*.tar.gz
    mkdir -p "$target/bin"
    tar -xzf "$1" -C "$target" --strip-components=1
    mv "$target/haul" "$target/bin/haul"
else
    python=${PYTHON:-python3}
    "$python" -c '' 2>/dev/null ||
        fail "$python does not run (hint: install Python, or add --command for the command without Python)"
    number=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    case " $(cat PYTHON) " in
    *" $number "*) ;;
    *) fail "the wheels are for Python $(cat PYTHON), and $python is $number (hint: set PYTHON, or make the folder with: make carry PYTHONS=$number)" ;;
    esac
    # Some distributions leave pip out of Python; its wheel runs as it is.
    "$python" -m venv --without-pip "$target"
    case $extras in none) wanted=haulage ;; *) wanted="haulage[$extras]" ;; esac
    set -- wheelhouse/pip-*.whl
    echo "installing $wanted into $target; this can take some minutes" >&2
    PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 "$target/bin/python" "$1/pip" install --quiet \
        --no-index -f wheelhouse "$wanted" pip
fi
"$target/bin/haul" --version
echo "installed into $target; put $target/bin into PATH, or activate it with: . $target/bin/activate" |
    if [ -n "$command" ]; then sed 's/, or activate.*//'; else cat; fi
