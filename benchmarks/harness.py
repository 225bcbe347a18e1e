"""What all benchmarks share: run a process and weigh it, alternate the arms, keep every row."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage

HERE = Path(__file__).parent
#: What a person has set for real accounts or tuning must not take part.
FOREIGN = ("AZURE_", "AZCOPY_", "RCLONE_", "HAUL_", "AWS_")


@dataclass(frozen=True)
class Weight:
    """What one run of a process cost. CPU is user and system time of it and its children."""

    wall_s: float
    cpu_s: float
    max_rss_mib: float  #: never below this interpreter's own, `rss_floor_mib` in the facts
    exit_code: int


def weigh(line: Sequence[str | Path], env: Mapping[str, str]) -> Weight:
    """Run ``line`` with its output discarded and return what it cost, by wait4."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in line], env=kept | dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.stderr.write(said.decode(errors="replace")[-2000:])
    return Weight(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, process.returncode)


@dataclass(frozen=True)
class Task:
    """Work that every arm does alike."""

    name: str
    size_bytes: int
    objects: int


class Rows:
    """Keeps every run as a line of JSON, beneath a first line of facts about machine and tools."""

    def __init__(self, benchmark: str, versions: Mapping[str, str]) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        self.path = HERE / "results" / f"{benchmark}-{stamp}.jsonl"
        self.path.parent.mkdir(exist_ok=True)
        self._write({"facts": facts() | {"benchmark": benchmark, "began": stamp, "versions": dict(versions)}})

    def _write(self, row: object) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def alternate(self, task: Task, arms: Mapping[str, Callable[[int], Weight]], rounds: int) -> None:
        """Run every arm once a round, in an order shuffled anew each round, and keep each run.

        What slows this machine for a while then slows all arms alike, and pairs of one round compare.
        An arm gets the round's number and must leave nothing behind.
        """
        order = Random(task.name)  # The same order every time, so that a run can be repeated.
        for number in range(rounds):
            names = list(arms)
            order.shuffle(names)
            for place, arm in enumerate(names):
                weight = arms[arm](number)
                row = {"task": asdict(task), "arm": arm, "round": number, "place": place, **asdict(weight)}
                self._write(row)
                print(
                    f"{task.name:<28} {arm:<8} round {number + 1}/{rounds}: {weight.wall_s:7.2f} s, "
                    f"{weight.cpu_s:6.2f} CPU-s, {weight.max_rss_mib:6.0f} MiB",
                    flush=True,
                )


def facts() -> dict[str, object]:
    """Return what a reader must know of the machine, and nothing that names it."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "cpu": _cpu(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
        "rss_floor_mib": round(getrusage(RUSAGE_SELF).ru_maxrss / 1024),
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


@contextmanager
def scratch(need_bytes: int) -> Iterator[Path]:
    """Give a folder in memory, so that no disk is measured, and remove it afterwards.

    Exits with a plain message where the memory free now would not hold ``need_bytes`` twice.
    """
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    if free < 2 * need_bytes:
        sys.exit(f"needs {2 * need_bytes >> 20} MiB of free memory, {free >> 20} MiB are: try --quick")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="haulage-bench-") as folder:
        yield Path(folder)


def random_file(path: Path, size: int) -> Path:
    """Write ``size`` bytes that no store can compress.

    In small pieces: the memory that a child is reported to have used is never less than its parent's.
    """
    piece = 1 << 20
    with path.open("wb") as file:
        for offset in range(0, size, piece):
            file.write(os.urandom(min(piece, size - offset)))
    return path


def random_files(folder: Path, count: int, size: int) -> Path:
    """Fill ``folder`` with ``count`` random files of ``size`` bytes."""
    folder.mkdir()
    for number in range(count):
        random_file(folder / f"{number:06}.bin", size)
    return folder


def arguments(about: str, tasks: list[str], rounds: int) -> argparse.Namespace:
    """Parse the options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--quick", action="store_true", help="a sixteenth of the bytes, two rounds: does it run?"
    )
    parser.add_argument("--rounds", type=int, help=f"runs of every arm (default {rounds})")
    parser.add_argument("--only", nargs="+", choices=tasks, help="only these tasks")
    parser.add_argument("--tools", default="haul,rclone,azcopy", help="default: all that are found")
    given = parser.parse_args()
    given.rounds = given.rounds or (2 if given.quick else rounds)
    given.divisor = 16 if given.quick else 1
    return given
