"""Runs pytest, and what has failed once more by itself: once_more.py PYTEST [ARGUMENT ...].

Tests run beside each other and beside a compiler, on as few as two processors, and some of them wait for a
page or a process. A few that fail there and pass alone are named at the end, for somebody to mend; the run
passes. More than a few, or one that fails again, and the run fails. Arguments of pytest-xdist are left out
when tests run again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

#: More than so many failures are no accident.
MOST = 3
#: A line of pytest's summary; what follows the dash is why.
_FAILED = re.compile(r"^FAILED (\S+?::[^\[]+?(?:\[.*?\])?)(?: - .*)?$")
#: What pytest ends with if tests failed, and nothing worse happened.
TESTS_FAILED = 1


def main(command: Sequence[str]) -> int:
    """Run the command; return what to exit with."""
    code, failed = run(command)
    if code != TESTS_FAILED or None in failed or not 0 < len(failed) <= MOST:
        return code
    print(f"\n{len(failed)} failed; once more, each by itself", flush=True)
    tests = [test for test in failed if test]
    passed = [test for test in tests if run([*alone(command), test])[0] == 0]
    for test in passed:
        print(f"failed beside others, passed alone: {test}", flush=True)
    return 0 if passed == tests else TESTS_FAILED


def run(command: Sequence[str]) -> tuple[int, list[str | None]]:
    """Run pytest and show what it prints; return its exit code and what failed, ``None`` for an error."""
    failed: list[str | None] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := _FAILED.match(line.rstrip("\n")):
                failed.append(found[1])
            elif line.startswith("ERROR "):
                failed.append(None)
    return process.returncode, failed


def alone(command: Sequence[str]) -> list[str]:
    """Return the command without what spreads tests over processes, and without paths of its own."""
    kept, words = [], iter(command)
    for word in words:
        if word in ("-n", "--dist"):
            next(words)
        elif not word.startswith("tests/") or word.endswith(".py"):
            kept.append(word)
    return kept


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
