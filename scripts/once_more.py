"""Runs pytest or cargo test, and what has failed once more by itself: once_more.py COMMAND [ARGUMENT ...].

Tests run beside each other and beside a compiler, on as few as two processors, and some of them wait for a
page or a process. A few that fail there and pass alone are named at the end, for somebody to mend; the run
passes. More than a few, or one that fails again, and the run fails. Arguments of pytest-xdist are left out
when tests run again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: More than so many failures are no accident.
MOST = 3


@dataclass(frozen=True)
class Runner:
    """How a runner of tests says what happened, and how it is told to run one."""

    #: What it ends with if tests failed, and nothing worse happened.
    tests_failed: int
    #: A line that names a test that failed.
    failed: re.Pattern[str]
    #: A line that names a test that passed; ``None`` if running nothing is an error.
    passed: re.Pattern[str] | None
    #: A line that says that something worse has happened.
    worse: re.Pattern[str]
    #: The command that runs all, and the one that runs one test.
    every: Callable[[Sequence[str]], list[str]]
    one: Callable[[Sequence[str], str], list[str]]


def main(command: Sequence[str]) -> int:
    """Run the command; return what to exit with."""
    runner = CARGO if Path(command[0]).name == "cargo" else PYTEST
    code, failed, _ = run(runner, runner.every(command))
    if code != runner.tests_failed or None in failed or not 0 < len(failed) <= MOST:
        return code
    print(f"\n{len(failed)} failed; once more, each by itself", flush=True)
    tests = [test for test in failed if test]
    passed = [test for test in tests if passes(runner, runner.one(command, test), test)]
    for test in passed:
        print(f"failed beside others, passed alone: {test}", flush=True)
    return 0 if passed == tests else runner.tests_failed


def passes(runner: Runner, command: Sequence[str], test: str) -> bool:
    """Whether a test that runs by itself passes, and is run at all."""
    code, _, passed = run(runner, command)
    return code == 0 and (runner.passed is None or test in passed)


def run(runner: Runner, command: Sequence[str]) -> tuple[int, list[str | None], set[str]]:
    """Run a command and show what it prints; return its exit code, failures (``None``: worse) and passes."""
    failed: list[str | None] = []
    passed: set[str] = set()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := runner.failed.match(line.rstrip("\n")):
                failed.append(found[1])
            elif runner.worse.search(line):
                failed.append(None)
            elif runner.passed is not None and (found := runner.passed.match(line.rstrip("\n"))):
                passed.add(found[1])
    return process.returncode, failed, passed


def alone(command: Sequence[str]) -> list[str]:
    """Return the command without what spreads tests over processes, and without paths of its own."""
    kept, words = [], iter(command)
    for word in words:
        if word in ("-n", "--dist"):
            next(words)
        elif not word.startswith("tests/") or word.endswith(".py"):
            kept.append(word)
    return kept


#: What follows the dash in a line of its summary is why.
PYTEST = Runner(
    tests_failed=1,
    failed=re.compile(r"^FAILED (\S+?::[^\[]+?(?:\[.*?\])?)(?: - .*)?$"),
    passed=None,
    worse=re.compile(r"^ERROR "),
    every=list,
    one=lambda command, test: [*alone(command), test],
)
#: A name that no program of tests knows is no error for it, and one that ended by a signal names no test.
CARGO = Runner(
    tests_failed=101,
    failed=re.compile(r"^test (.+?)(?: - should panic)? \.\.\. FAILED$"),
    passed=re.compile(r"^test (.+?)(?: - should panic)? \.\.\. ok$"),
    worse=re.compile(r"process didn't exit successfully: .*\((?!exit status: 101\))"),
    every=lambda command: [*command, "--no-fail-fast"],
    one=lambda command, test: [*command, "--", "--exact", test],
)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
