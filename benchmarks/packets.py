"""Links of real packets: how near each mover comes to what TCP alone carries over them.

python benchmarks/packets.py                   60 cells of the grid, drawn by a seed: hours
python benchmarks/packets.py --rows            the named links alone: half an hour
python benchmarks/packets.py --cells 4 --tools haul,rclone   a look
python benchmarks/packets.py --s3 --rows       the same by S3: haul, s5cmd, rclone, obstore

Needs root, iperf3 and nsenter. Each run is a line of JSON on standard output, the table goes to standard
error.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cases import FAST, S3
from endpoints import CONTAINER, Endpoint, by_s3
from harness import random_files, weigh
from tools import Haul, Tool, find

MIB = 1 << 20
RATES, TRIPS = (10, 50, 200, 800), (5, 30, 80, 200)
LOSSES, QUEUES, CONTROLS = (0.0, 0.1, 1.0), (0.25, 1.0, 4.0), ("bbr", "cubic")
#: Seconds that a cell's bytes take at its rate, at least, and the sizes from which the next is taken.
LEAST_S, SIZES = 4.0, (8, 32, 128, 256, 512, 1024)
#: Streams of iperf3: more than one loses less to a single loss.
STREAMS = 16
#: After this many times the ideal time a run is ended.
PATIENCE = 20


@dataclass(frozen=True)
class Cell:
    """A link, what is moved over it, and which way. ``files`` is 1, or those of a folder."""

    name: str
    link: str
    rate_mbit: float
    direction: str
    files: int
    file_bytes: int

    @property
    def bits(self) -> float:
        """Return how many bits are moved."""
        return 8.0 * self.files * self.file_bytes

    @property
    def ideal_s(self) -> float:
        """Return the time that they take at the rate."""
        return self.bits / (self.rate_mbit * 1e6)


#: The links that were looked into first, by what was seen on them.
ROWS = [
    Cell(f"{name}, {direction}", link, rate, direction, files, size)
    for name, link, rate, files, size in (
        ("80 ms, 200 Mbit/s", "rtt=80ms,total=200mbit,queue=50ms", 200, 1, 256 * MIB),
        ("the same, 0.5 % loss", "rtt=80ms,total=200mbit,queue=100ms,loss=0.5%", 200, 1, 256 * MIB),
        ("8 Mbit/s a flow", "rtt=100ms,conn=8mbit,total=200mbit", 200, 1, 256 * MIB),
        ("120 ms, 2,000 x 64 KiB", "rtt=120ms,total=200mbit", 200, 2000, 65536),
    )
    for direction in ("up", "down")
]


def main() -> None:
    """Run the cells, say each as it comes, and then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--rows", action="store_true", help="the named rows instead of the grid")
    parser.add_argument("--s3", action="store_true", help="by S3 instead of Azure's interface")
    parser.add_argument("--only", metavar="WORDS", help="cells whose names hold these words")
    parser.add_argument("--tools", help=f"default: {','.join(FAST)}; by S3 {','.join(S3)}")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    missing = [name for name in ("iperf3", "nsenter") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        sys.exit(
            f"needs root and {' and '.join(missing) or 'nothing else'}: apt-get install iperf3 util-linux"
        )
    tools = find(args.tools.split(",") if args.tools else list(S3 if args.s3 else FAST))
    cells = ROWS if args.rows else list(itertools.islice(grid(args.seed), args.cells))
    cells = [cell for cell in cells if (args.only or "") in cell.name]
    rows = []
    for number, cell in enumerate(cells):
        for repeat in range(args.repeat):
            for row in measure(cell, tools, f"{args.seed} {number} {repeat}", args.s3):
                rows.append(row)
                print(json.dumps(row), flush=True)
    sys.stderr.write(table(rows, list(tools)))


def grid(seed: int) -> Iterator[Cell]:
    """Draw cells without end; every value of every factor comes as often as the others."""
    draw = random.Random(seed)
    factors = (RATES, TRIPS, LOSSES, QUEUES, CONTROLS, ("up", "down"), ("file", "tree"))
    decks: list[list[object]] = [[] for _ in factors]
    while True:
        for deck, values in zip(decks, factors, strict=True):
            if not deck:
                deck.extend(draw.sample(values, len(values)))
        rate, trip, loss, queue, control, direction, what = (deck.pop() for deck in decks)
        # Of the product of rate and round trip, as a time at the rate; five packets at least.
        waits = max(float(queue) * float(trip), 5 * 12 / float(rate))  # type: ignore[arg-type]
        link = (
            f"rtt={trip}ms,total={rate}mbit,queue={waits:.2f}ms,control={control},seed={draw.randint(1, 999)}"
        )
        link += f",loss={loss}%" if loss else ""
        wanted = LEAST_S * float(rate) * 1e6 / 8 / MIB  # type: ignore[arg-type]
        size = next((size for size in SIZES if size >= wanted), SIZES[-1]) * MIB
        files, each = (1, size) if what == "file" else (size // 262_144, 262_144)
        name = f"{rate} Mbit/s, {trip} ms, {loss} %, {queue} BDP, {control}, {direction}, {what}"
        yield Cell(name, link, float(rate), str(direction), files, each)  # type: ignore[arg-type]


def measure(cell: Cell, tools: dict[str, Tool], seed: str, s3: bool) -> Iterator[dict[str, object]]:
    """Run iperf3 and each tool over the cell's link, in random order, each on a link of its own."""
    order = ["iperf3", *tools]
    random.Random(seed).shuffle(order)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        folder = random_files(Path(scratch) / "files", cell.files, cell.file_bytes)
        for name in order:
            if name == "iperf3":
                with link(cell.link, Path(scratch), s3) as (near, far, _):
                    yield {"cell": cell.name, "tool": name, "mbit": iperf(cell, near, far)}
                continue
            with link(cell.link, Path(scratch), s3) as (near, far, at):
                yield {
                    "cell": cell.name,
                    **asdict(cell),
                    "interface": "s3" if s3 else "azure",
                    "tool": name,
                    **run(cell, tools[name], (near, far), at, folder),
                }


def run(cell: Cell, tool: Tool, ends: tuple[str, str], at: Endpoint, folder: Path) -> dict[str, object]:
    """Move the cell's bytes once and return how long it took, what it cost and the goodput."""
    many = cell.files > 1
    source = folder if many else next(path for path in folder.rglob("*") if path.is_file())
    near, far = (["nsenter", f"--net={end}"] for end in ends)
    limit = max(60.0, PATIENCE * cell.ideal_s)
    if cell.direction == "down":
        # From within, where the endpoint is: the link is not to be filled by it.
        haul = Haul("haul", (str(Path(sys.executable).parent / "haul"),))
        weigh([*far, *haul.start, *haul.up(at, source, "data", many)], {**at.env, **haul.env(at)})
        target = at.scratch / "down"
        words = tool.down(at, "data", target if many else target.with_suffix(".bin"), many)
    else:
        words = tool.up(at, source, "data", many)
    weight = weigh([*near, *tool.start, *words], {**at.env, **tool.env(at)}, limit_s=limit)
    shutil.rmtree(at.scratch / "down", ignore_errors=True)
    good = weight.exit_code == 0
    return {
        "wall_s": round(weight.wall_s, 3),
        "cpu_s": round(weight.cpu_s, 3),
        "ok": good,
        "mbit": round(cell.bits / weight.wall_s / 1e6, 2) if good else 0.0,
    }


def iperf(cell: Cell, near: str, far: str) -> float:
    """Return the goodput of several streams in Mbit/s, over the time that the cell's bytes take."""
    server = subprocess.Popen(["nsenter", f"--net={far}", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    words = ["iperf3", "-c", "127.254.0.2", "-P", str(STREAMS), "-t", str(max(2, round(cell.ideal_s))), "-J"]
    words += ["-R"] if cell.direction == "down" else []
    try:
        for _ in range(20):
            ran = subprocess.run(
                ["nsenter", f"--net={near}", *words], capture_output=True, text=True, check=False
            )
            said = json.loads(ran.stdout or "{}")
            if "sum_received" in said.get("end", {}):
                return float(round(said["end"]["sum_received"]["bits_per_second"] / 1e6, 2))
        raise SystemExit(f"iperf3: {ran.stdout[-300:]}")
    finally:
        server.kill()
        server.wait()


@contextmanager
def link(spec: str, scratch: Path, s3: bool) -> Iterator[tuple[str, str, Endpoint]]:
    """Start an endpoint behind a link; yield its near end, its far end and what clients need.

    Those of S3, if ``s3``.
    """
    line = [str(Path(sys.executable).parent / "haul"), "emulate", "--link", f"packets:{spec}", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            place = Path(tempfile.mkdtemp(dir=scratch))
            at = Endpoint(said["endpoint"], said["connection_string"], said["sas"], place, {})
            haul = [*line[:1], "mb", "--quiet", f"az://{CONTAINER}"]
            env = {"AZURE_STORAGE_CONNECTION_STRING": said["connection_string"]}
            subprocess.run(["nsenter", f"--net={said['far']}", *haul], env=os.environ | env, check=True)
            yield said["near"], said["far"], by_s3(at, said["s3"]) if s3 else at
        finally:
            process.terminate()
            process.wait()


def table(rows: Sequence[dict[str, object]], tools: list[str]) -> str:
    """Return shares of iperf3's goodput by cell, and their medians."""
    lines = [f"{'':52} {'iperf3':>8} " + " ".join(f"{name:>8}" for name in tools)]
    shares: dict[str, list[float]] = {name: [] for name in tools}
    for cell in dict.fromkeys(str(row["cell"]) for row in rows):
        found: dict[str, float] = {}
        for name in ("iperf3", *tools):
            seen = [float(str(row["mbit"])) for row in rows if (row["cell"], row["tool"]) == (cell, name)]
            found[name] = statistics.median(seen) if seen else 0.0
        whole = found["iperf3"] or 1.0
        for name in tools:
            shares[name].append(found[name] / whole)
        parts = " ".join(f"{found[name] / whole:8.1%}" for name in tools)
        lines.append(f"{cell:52} {found['iperf3']:8.1f} {parts}")
    lossless = [" 0.0 %," in line for line in lines[1:]]
    for name, wanted in (("without loss", True), ("with loss", False)):
        places = [place for place, without in enumerate(lossless) if without is wanted]
        if places:
            parts = " ".join(f"{statistics.median(shares[tool][at] for at in places):8.1%}" for tool in tools)
            lines.append(f"{'median ' + name:52} {'':8} {parts}")
    return "\n".join([*lines, *([behind(shares)] if len(tools) > 1 else []), ""])


def behind(shares: dict[str, list[float]]) -> str:
    """Say in how many cells the first tool is behind the best of the others by more than 3 %."""
    first, *others = shares.values()
    best = [max(found) for found in zip(*others, strict=True)]
    count = sum(ours < 0.97 * theirs for ours, theirs in zip(first, best, strict=False))
    return f"{next(iter(shares))} is behind the best other by more than 3 % in {count} of {len(first)} cells"


if __name__ == "__main__":
    main()
