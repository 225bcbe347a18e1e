"""Runs every benchmark with what the command line says, and prints the tables."""

from __future__ import annotations

import subprocess
import sys

from harness import HERE


def main() -> int:
    """Return 0 if all ran."""
    before = set((HERE / "results").glob("*.jsonl"))
    for script in ("loopback.py", "wan.py"):
        code = subprocess.run([sys.executable, HERE / script, *sys.argv[1:]], check=False).returncode
        if code != 0:
            return code
    new = sorted(set((HERE / "results").glob("*.jsonl")) - before)
    return subprocess.run([sys.executable, HERE / "table.py", *new], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
