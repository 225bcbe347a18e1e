"""Fail where a program needs a newer glibc than it may: `packaging/symbols.py --glibc 2.17 FILE...`."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

WANTED = re.compile(r"\bGLIBC_(\d+(?:\.\d+)+)\b")
#: Libraries that every glibc has; anything else would have to be installed.
OF_GLIBC = re.compile(r"^(lib(c|m|dl|rt|pthread|util|gcc_s)\.so\.\d+|ld-linux.*\.so\.\d+)$")


def numbers(version: str) -> tuple[int, ...]:
    """Return a version to compare.

    >>> numbers("2.17") > numbers("2.4")
    True
    """
    return tuple(map(int, version.split(".")))


def needed(path: str) -> tuple[list[str], list[str]]:
    """Return the versions of glibc that a file names, oldest first, and the libraries that it needs."""
    said = subprocess.run(["readelf", "-W", "-V", "-d", path], capture_output=True, text=True, check=True)
    versions = sorted(set(WANTED.findall(said.stdout)), key=numbers)
    return versions, re.findall(r"\(NEEDED\).*\[(.+)\]", said.stdout)


def main() -> int:
    """Look at each file; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--glibc", required=True)
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    bad = False
    for path in given.files:
        versions, libraries = needed(path)
        newest = versions[-1] if versions else "none"
        print(f"{path}: needs glibc {newest}, {', '.join(libraries) or 'no library'}")
        foreign = [name for name in libraries if not OF_GLIBC.match(name)]
        bad |= bool(foreign) or (bool(versions) and numbers(newest) > numbers(given.glibc))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
