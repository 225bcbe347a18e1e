"""What all benchmarks share: run a process and weigh it, alternate the arms, keep every row."""

from __future__ import annotations

import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from threading import Event, Timer

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
    timed_out: bool  #: killed, because it took too long


def weigh(
    line: Sequence[str | Path], env: Mapping[str, str], *, limit_s: float = 600, says: Path | None = None
) -> Weight:
    """Run ``line`` and return what it cost, by wait4. Its output is discarded, or goes to the file ``says``.

    After ``limit_s`` it is killed, with all that it started, which its weight tells.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    # What one run finds of a link may not help the next.
    kept["XDG_CACHE_HOME"] = os.devnull
    late = Event()
    with (says or Path(os.devnull)).open("wb") as out, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in line],
            env=kept | dict(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )

        def kill() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = Timer(limit_s, kill)
        timer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:  # In a session of its own, it does not see our Ctrl-C.
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.stderr.write(errors.read().decode(errors="replace")[-2000:])
    cpu = used.ru_utime + used.ru_stime
    return Weight(wall, cpu, used.ru_maxrss / 1024, process.returncode, late.is_set())


class Rows:
    """Keeps every run as a line of JSON, beneath a first line of facts about machine and tools."""

    def __init__(self, folder: Path, benchmark: str, versions: Mapping[str, str]) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        self.path = folder / f"{benchmark}-{stamp}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._failed: list[str] = []
        self._write({"facts": facts() | {"benchmark": benchmark, "began": stamp, "versions": dict(versions)}})

    def keep(self, row: Mapping[str, object]) -> None:
        """Write a run down at once, so that a campaign cut short keeps what it has."""
        self._write(row)
        if row["exit_code"] != 0 or row.get("same") is False:
            self._failed.append(f"{row['case']}: {row['arm']} failed in round {row['round']}")

    def failed(self) -> list[str]:
        """Return what failed, in words."""
        return self._failed

    def _write(self, row: object) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def orders(seed: str, names: Sequence[str], rounds: int) -> Iterator[tuple[int, int, str]]:
    """Yield round, place and name: every name once a round, in an order shuffled anew each round.

    What slows this machine for a while then slows all arms alike, and pairs of one round compare.
    """
    order = Random(seed)  # The same order every time, so that a run can be repeated.
    for number in range(rounds):
        shuffled = list(names)
        order.shuffle(shuffled)
        for place, name in enumerate(shuffled):
            yield number, place, name


def median_with_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median and the interval that holds 95 % of medians of the values drawn again."""
    draw = Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[-51]


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
