"""Transfers whose cause is known, because it was put there: what verdicts are scored against.

Each cause is injected on this machine: rates, latency, refusals and slowness by the local endpoint,
a slow disk by a shim below the mover's reads, busy processors by processes that do nothing else.
How strong it is, and what is moved, varies with the seed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from haulage.causes.verdict import Verdict
from haulage.errors import UnsupportedError
from haulage.lab.experiments.trial import Setting, Site
from haulage.lab.target import start_emulator

KIB, MIB = 2**10, 2**20
#: What is injected, by the code that the verdict should give.
INJECTED = (
    "total-rate",
    "connection-rate",
    "latency",
    "throttled",
    "commit",
    "disk",
    "cpu",
    "server",
)
#: What the matrix is made of: single causes three times, then what one name does not fit, then other work.
CASES = (
    *(f"{cause}{number}" for number in ("", " 2", " 3") for cause in INJECTED),
    *("disk under link", "disk under link 2"),
    *("mixed", "mixed 2", "mixed 3"),
    *("changing", "changing 2", "changing 3"),
    *("none", "none 2", "checksum", "checksum 2"),
    *(
        f"{cause} under load"
        for cause in ("total-rate", "connection-rate", "latency", "server", "disk", "none")
    ),
)
#: A loop on one core that nothing but the scheduler stops, and the death of who began it (PR_SET_PDEATHSIG).
SPIN = (
    "import ctypes, os, sys\nctypes.CDLL(None).prctl(1, 9)\n"
    "os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
)


@dataclass(frozen=True)
class Case:
    """A transfer and what is wrong with it.

    Attributes:
        cause: What was injected.
        seed: Of everything that varies.
        link: Of the endpoint.
        faults: Of the endpoint.
        setting: The transfer that is looked into.
        slow_bytes_per_second: Of the disk; ``None`` for a quick one.
        spinners: Processes that do nothing, on each core.
        name: Of the case, such as ``"total-rate under load"``; the cause where empty.
        also: What is right too, where two causes are near each other.
    """

    cause: str
    seed: int
    link: str
    setting: Setting
    faults: str = "none"
    slow_bytes_per_second: int | None = None
    spinners: int = 0
    name: str = ""
    also: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it waits most of the time, for the link or a slow disk."""
        return self.link != "none" and self.cause != "checksum" and not self.spinners

    def is_right(self, named: str) -> bool:
        """Whether a name is what was injected."""
        return named == self.cause or named in self.also

    def is_listed(self, found: Verdict) -> bool:
        """Whether what was injected is among the causes that nothing excludes."""
        return any(self.is_right(name) for name in found.rivals)


def case(name: str, seed: int) -> Case:
    """Return the case of a name and a seed. Rates are such that it takes about a second.

    Args:
        name: Of :data:`CASES`. A number at the end, as in ``"disk 2"``, draws another one of its kind;
            ``under load`` adds a process that does nothing on each core.
        seed: Of everything that varies.
    """
    kind = name.removesuffix(" under load").rstrip("0123456789").strip()
    made = _MAKERS[kind](seed, random.Random(f"{name} {seed}"))
    return replace(made, name=name, spinners=made.spinners or int(name.endswith(" under load")))


def _blocks(size: int, draw: random.Random, block: int, lanes: int | None, seed: int) -> Setting:
    whole = max(size // block, 4 * (lanes or 16)) * block
    return Setting(1, whole, lanes, block, direction=draw.choice(["up", "down"]), seed=seed)


def _total_rate(seed: int, draw: random.Random) -> Case:
    rate, block = draw.randint(60, 240), draw.choice([256, 512]) * KIB
    # Half of them leave the number in flight to the engine, as people do.
    lanes = draw.choice([None, draw.randint(6, 12)])
    setting = _blocks(int(rate * 1e6 / 8 * 1.5), draw, block, lanes, seed)
    return Case("total-rate", seed, f"rtt={draw.randint(2, 12)}ms,total={rate}mbit", setting)


def _connection_rate(seed: int, draw: random.Random) -> Case:
    rate, lanes, block = draw.randint(8, 24), draw.randint(4, 8), draw.choice([128, 256]) * KIB
    setting = _blocks(int(rate * 1e6 / 8 * lanes * 1.2), draw, block, lanes, seed)
    return Case("connection-rate", seed, f"rtt={draw.randint(2, 12)}ms,conn={rate}mbit", setting)


def _latency(seed: int, draw: random.Random) -> Case:
    rtt, lanes, block = draw.randint(40, 150), draw.randint(2, 6), draw.choice([32, 64, 128]) * KIB
    setting = _blocks(int(block * lanes / (rtt / 1000)), draw, block, lanes, seed)
    return Case("latency", seed, f"rtt={rtt}ms", setting)


def _throttled(seed: int, draw: random.Random) -> Case:
    share, lanes, block = draw.randint(12, 35), draw.randint(4, 8), draw.choice([256, 512]) * KIB
    setting = _blocks(20 * MIB, draw, block, lanes, seed)
    link = f"rtt={draw.randint(2, 12)}ms,total={draw.randint(200, 400)}mbit"
    return Case("throttled", seed, link, setting, f"busy={share}%,seed={seed + 1}")


def _commit(seed: int, draw: random.Random) -> Case:
    commit, lanes = draw.randint(80, 250), draw.randint(4, 8)
    files, size = lanes * draw.randint(5, 8), draw.choice([4, 16, 64]) * KIB
    # Half of them commit lists of two blocks.
    block = draw.choice([size, size // 2])
    setting = Setting(files, size, lanes, block, seed=seed)
    return Case("commit", seed, f"rtt={draw.randint(2, 12)}ms", setting, f"commit={commit}ms")


def _disk(seed: int, draw: random.Random) -> Case:
    rate, lanes, block = draw.randint(8, 30), draw.randint(4, 8), draw.choice([256, 512, 1024]) * KIB
    setting = Setting(1, max(rate * MIB, 4 * lanes * block), lanes, block, seed=seed)
    link = f"rtt={draw.randint(2, 12)}ms"
    return Case("disk", seed, link, setting, slow_bytes_per_second=rate * MIB)


def _cpu(seed: int, draw: random.Random) -> Case:
    lanes, block = draw.randint(4, 8), draw.choice([512, 1024, 2048]) * KIB
    setting = Setting(1, 64 * MIB, lanes, block, direction=draw.choice(["up", "down"]), seed=seed)
    return Case("cpu", seed, "none", setting, spinners=draw.randint(2, 3))


def _server(seed: int, draw: random.Random) -> Case:
    turn, lanes, block = draw.randint(5, 20), draw.randint(6, 12), draw.choice([64, 128, 256]) * KIB
    setting = _blocks(int(block / (turn / 1000)), draw, block, lanes, seed)
    return Case("server", seed, f"rtt={draw.randint(2, 8)}ms", setting, f"serial={turn}ms")


def _disk_under_link(seed: int, draw: random.Random) -> Case:
    disk = draw.randint(80, 120)
    link = f"rtt=4ms,total={round(disk * draw.uniform(1.25, 1.5))}mbit"
    setting = Setting(1, 16 * MIB, 8, 512 * KIB, seed=seed)
    return Case("disk", seed, link, setting, slow_bytes_per_second=disk * 125_000)


def _mixed(seed: int, draw: random.Random) -> Case:
    """Round trips hold 35 to 65 % of the time of a request, the bound on a connection the rest."""
    block, rate, waits = 128 * KIB, draw.randint(8, 24), draw.uniform(0.35, 0.65)
    moving_ms = 8e3 * block / (rate * 1e6)
    rtt, lanes = round(moving_ms * waits / (1 - waits)), draw.randint(3, 6)
    setting = _blocks(int(rate * 1e6 / 8 * lanes * (1 - waits)), draw, block, lanes, seed)
    return Case("mixed", seed, f"rtt={rtt}ms,conn={rate}mbit", setting)


def _changing(seed: int, draw: random.Random) -> Case:
    before = draw.randint(80, 160)
    after = round(before / draw.uniform(2.5, 5))
    setting = _blocks(int((before * 1.2 + after * 1.5) * 1e6 / 8), draw, 256 * KIB, 8, seed)
    # The link's clock begins with the first connection: for a download, the one that sends its bytes up.
    setting = replace(setting, direction="up")
    return Case("changed", seed, f"rtt=4ms,total={before}mbit,at=1.3s:total={after}mbit", setting)


def _none(seed: int, draw: random.Random) -> Case:
    setting = Setting(1, 256 * MIB, draw.randint(4, 8), MIB, direction=draw.choice(["up", "down"]), seed=seed)
    return Case("cpu", seed, "none", setting)


def _checksum(seed: int, draw: random.Random) -> Case:
    link = f"rtt=1ms,total={draw.randint(6, 8)}gbit"
    setting = Setting(1, 256 * MIB, draw.randint(1, 2), 4 * MIB, checksum="md5", seed=seed)
    return Case("checksum", seed, link, setting, also=("cpu",))


_MAKERS = {
    "disk under link": _disk_under_link,
    "mixed": _mixed,
    "changing": _changing,
    "none": _none,
    "checksum": _checksum,
    "total-rate": _total_rate,
    "connection-rate": _connection_rate,
    "latency": _latency,
    "throttled": _throttled,
    "commit": _commit,
    "disk": _disk,
    "cpu": _cpu,
    "server": _server,
}


@contextmanager
def stage(case: Case, folder: Path, quick_folder: Path, shim: Path | None) -> Iterator[Site]:
    """Set a case up and yield the path for its transfers.

    Args:
        case: What to inject.
        folder: On a disk.
        quick_folder: In memory, such as below ``/dev/shm``, so that the disk has no part in other causes.
        shim: The compiled ``slow_disk.c``; only for a slow disk.

    Raises:
        UsageError: The endpoint does not know a fault.
        UnsupportedError: No shim for a slow disk.
    """
    slow = case.slow_bytes_per_second
    environment: Mapping[str, str] = {}
    if slow is not None:
        if shim is None:
            raise UnsupportedError("inject", "a slow disk", "no shim", "compile slow_disk.c with cc")
        environment = {
            "LD_PRELOAD": str(shim),
            "HAULAGE_SLOW_FOLDER": str(folder.resolve()),
            "HAULAGE_SLOW_BYTES_PER_SECOND": str(slow),
        }
    with ExitStack() as stack:
        endpoint = start_emulator(store="null", link=case.link, faults=case.faults)
        stack.callback(endpoint.close)
        for core in sorted(os.sched_getaffinity(0)):
            for _ in range(case.spinners):
                spinner = subprocess.Popen([sys.executable, "-c", SPIN, str(core)])
                stack.callback(spinner.wait)
                stack.callback(spinner.kill)
        yield stack.enter_context(Site(endpoint, folder if slow is not None else quick_folder, environment))


def compile_shim(into: Path) -> Path:
    """Compile the shim of the slow disk.

    Raises:
        UnsupportedError: No C compiler here.
    """
    source = Path(__file__).with_name("slow_disk.c")
    into.mkdir(parents=True, exist_ok=True)
    made = into / "slow_disk.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", str(made), str(source), "-ldl"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UnsupportedError("inject", "a slow disk", "no C compiler", "install cc") from None
    if ran.returncode != 0:
        raise UnsupportedError("inject", "a slow disk", ran.stderr.strip()[-300:], "needs Linux with glibc")
    return made
