"""Runs a stage of the tests and adds what it took to a file: stage.py FILE NAME COMMAND [ARGUMENT ...].

A line for each stage: its name, the seconds that processors worked for it, and the wall time.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def main(file: str, name: str, command: Sequence[str]) -> int:
    """Run the command; return what to exit with."""
    # Ctrl-C and make tell the command too; this waits for its end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    began = time.monotonic()
    process = subprocess.Popen(command, preexec_fn=_obeys)
    code = process.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Path(file).open("a") as kept:
        kept.write(f"{name}\t{used.ru_utime + used.ru_stime:.0f}\t{time.monotonic() - began:.0f}\n")
    return code if code >= 0 else 128 - code


def _obeys() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
