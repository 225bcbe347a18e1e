"""Runs the campaign, or a part of it: `python benchmarks/run.py --list` shows the cases."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from cases import BY_NAME, CASES, GROUPS, MIB, SHORT, Case
from endpoints import BUILD, MissingError
from harness import HERE, Rows
from links import parse
from tools import NAMES, find
from work import carry_out

#: What the README shows.
PICTURE = HERE.parent / "docs/images/peers.svg"
#: A guess for the estimate of time only: connections each opens, up and down, and what it does beside a link.
CONNECTIONS = {"haul": (64, 64), "rclone": (16, 16), "azcopy": (32, 32), "obstore": (12, 1), "azure": (8, 8)}
SECONDS_PER_GIB = {"haul": 0.6, "rclone": 5, "azcopy": 3, "obstore": 2, "azure": 3, "s5cmd": 5}
SECONDS_PER_FILE = {"haul": 0.0001, "azure": 0.0055}


@dataclass(frozen=True)
class Planned:
    """A case with who takes part and how often."""

    case: Case
    arms: list[str]
    rounds: int

    @property
    def guess_s(self) -> float:
        """About how long it takes."""
        return 5 + self.rounds * sum(_guess_s(self.case, arm) for arm in self.arms)


def main() -> int:
    """Run what was asked for and print the table."""
    given = arguments()
    if given.list:
        for case in CASES:
            print(f"{case.group:<9} {case.name:<13} {case.title:<31} {', '.join(case.arms)}")
        return 0
    # Ends as on Ctrl-C, so that no server and no file in memory stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tools = find(given.tools.split(","))
    plan = list(planned(given, list(tools)))
    # A look proves nothing, so it is kept apart from what does.
    folder = BUILD / "bench" if given.quick else HERE / "results"
    rows = Rows(folder, "campaign", {name: tool.version() for name, tool in tools.items()})
    left = sum(step.guess_s for step in plan)
    print(
        f"{len(plan)} cases, about {_minutes(left)} in all; rows go to {rows.path.relative_to(HERE.parent)}"
    )
    for number, step in enumerate(plan, 1):
        print(f"case {number} of {len(plan)}, {step.case.name}: about {_minutes(left)} left", flush=True)
        began = time.monotonic()
        try:
            carry_out(step.case, tools, step.arms, step.rounds, rows, given.quick)
        except MissingError as missing:
            print(f"  left out: {missing}")
        left -= step.guess_s
        print(f"  took {time.monotonic() - began:.0f} s", flush=True)
    if given.check:
        failed = rows.failed()
        print("\n".join(failed) or "all arms did all their work")
        return 1 if failed else 0
    code = subprocess.run([sys.executable, HERE / "table.py", rows.path], check=False).returncode
    if given.chart and code == 0:
        picture = PICTURE if not given.quick else rows.path.with_suffix(".svg")
        code = subprocess.run([sys.executable, HERE / "chart.py", picture, rows.path], check=False).returncode
    return code


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="show the cases and end")
    parser.add_argument(
        "--quick", action="store_true", help="a sixteenth of the work, one round: does it run?"
    )
    parser.add_argument("--rounds", type=int, help="runs of every arm (default: as the case says)")
    parser.add_argument("--only", nargs="+", choices=list(BY_NAME), metavar="CASE", help="only these cases")
    parser.add_argument(
        "--groups", nargs="+", choices=GROUPS, metavar="GROUP", help=f"of {', '.join(GROUPS)}"
    )
    parser.add_argument("--short", action="store_true", help=f"the groups {', '.join(SHORT)}")
    parser.add_argument("--tools", default=",".join(NAMES), help="default: all that are found")
    parser.add_argument("--peers-on-slow", action="store_true", help="peers also where a run takes minutes")
    parser.add_argument("--chart", action="store_true", help=f"draw {PICTURE.name} as well, if not --quick")
    parser.add_argument("--check", action="store_true", help="no table; fail if a run failed")
    return parser.parse_args()


def planned(given: argparse.Namespace, tools: list[str]) -> Iterator[Planned]:
    """Yield what is to be done, with sizes made smaller for a quick look."""
    groups = given.groups or (SHORT if given.short else GROUPS)
    for case in CASES:
        if case.name not in (given.only or BY_NAME) or not (given.only or case.group in groups):
            continue
        arms = [arm for arm in case.arms if arm in tools and (arm == "haul" or _wanted(case, given))]
        if arms:
            rounds = given.rounds or (1 if given.quick else case.rounds)
            yield Planned(_smaller(case) if given.quick else case, arms, rounds)


def _wanted(case: Case, given: argparse.Namespace) -> bool:
    return bool(given.peers_on_slow) or not case.slow


def _smaller(case: Case) -> Case:
    if case.count > 1 and case.size >= MIB:
        return replace(case, count=4)
    if case.count > 1:
        return replace(case, count=case.count // 16)
    return replace(case, size=max(case.size // 16, min(case.size, MIB)))


def _guess_s(case: Case, arm: str) -> float:
    link, bits = parse(case.link), case.bytes * 8
    lanes = CONNECTIONS.get(arm, (64, 64))[case.does == "down"] * (case.count if arm == "obstore" else 1)
    narrow = bits / (lanes * link.conn) if link.conn < inf else 0
    steady = SECONDS_PER_GIB[arm] * case.bytes / 2**30 + SECONDS_PER_FILE.get(arm, 0.0004) * case.count
    if case.does == "list":
        steady = case.count / 30_000
    if case.faults:
        steady *= 40 if arm == "azure" else 2
    start = 2.2 if arm == "azcopy" else 0.3
    return start + max(narrow, link.ideal_s(bits) if bits else 0, steady)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
