"""Prints what each stage of the tests took and compares it with tests/budget.toml: budget.py FILE.

Processors differ, and one may be half as fast tomorrow. So a fixed piece of work is timed first, and seconds
are compared in units of it. A total that is more than five per cent above the one in the repository fails:
make a test cheaper, move one to `make long`, or say in the commit why the tests are worth more.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import tomllib
from pathlib import Path

BUDGET = Path(__file__).resolve().parent.parent / "tests/budget.toml"
#: What compiles depends on what was compiled before, so it is printed and not compared.
NOT_COMPARED = "ready"
ALLOWED = 1.05


def unit() -> float:
    """Return the seconds that the machine takes for a fixed piece of work, the least of five."""
    return min(_work() for _ in range(5))


def _work() -> float:
    began = time.process_time()
    rows = [{"name": str(number), "size": number * number} for number in range(60_000)]
    for _ in range(2):
        rows = json.loads(json.dumps(rows))
    hashlib.sha256(bytes(60_000_000)).digest()
    sorted(rows, key=lambda row: str(row["size"]))
    return time.process_time() - began


def main(file: str) -> int:
    """Print the stages and the verdict; return 1 if the tests take too much."""
    budget = tomllib.loads(BUDGET.read_text("utf-8"))
    stages = [line.split("\t") for line in Path(file).read_text("utf-8").splitlines()]
    now = unit()
    print(f"\n{'stage':12}{'CPU-s':>8}{'wall s':>8}")
    for name, cpu, wall in stages:
        print(f"{name:12}{cpu:>8}{wall:>8}")
    total = sum(float(cpu) for name, cpu, _ in stages if name != NOT_COMPARED)
    scaled = total * budget["unit_seconds"] / now
    print(
        f"tests: {total:.0f} CPU-s, {scaled:.0f} on a machine like that of tests/budget.toml, "
        f"which allows {budget['tests_cpu_seconds']} and 5 % "
        f"(its unit {budget['unit_seconds']:.3f} s, here {now:.3f})"
    )
    if scaled > budget["tests_cpu_seconds"] * ALLOWED:
        print("the tests take more than the repository allows: see CONTRIBUTING.md, 'Tests'", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
