"""What does recording cost: the same work with and without --record, in pairs of random order.

python benchmarks/recording.py              15 pairs of each case, about three minutes
python benchmarks/recording.py --pairs 3    a look
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import median_with_interval, random_files, weigh
from many import HAUL, serving

MIB = 1 << 20
#: Name, link, files, bytes of each: as the lab records, then as fast as this machine goes, with a row for
#: each mebibyte and with one for each 4 KiB, which is the most that recording can cost.
CASES = [
    ("over a link", "wan", 1, 100_000_000),
    ("one large file", "none", 1, 2048 * MIB),
    ("many small files", "none", 20_000, 4096),
]


def main() -> None:
    """Print a line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    for name, link, files, size in CASES:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch, serving(link) as said:
            env = {"AZURE_STORAGE_CONNECTION_STRING": said["connection_string"]}
            subprocess.run([HAUL, "mb", "--quiet", "az://recording"], env=os.environ | env, check=True)
            folder = random_files(Path(scratch) / "files", files, size)
            once(env, folder, None)
            pairs = []
            for _ in range(args.pairs):
                order = [None, Path(scratch) / "record.parquet"]
                rng.shuffle(order)
                seen = {record is not None: once(env, folder, record) for record in order}
                pairs.append((seen[False], seen[True]))
            print(json.dumps(row(name, files, size, pairs)), flush=True)


def once(env: Mapping[str, str], folder: Path, record: Path | None) -> tuple[float, float]:
    """Copy the folder; return wall and processor seconds."""
    line = [str(HAUL), "cp", str(folder), "az://recording/x/", "--overwrite", "always", "--progress", "none"]
    line += ["--quiet"] if record is None else ["--quiet", "--record", str(record)]
    if record is not None:
        record.unlink(missing_ok=True)
    weight = weigh(line, env)
    if weight.exit_code != 0:
        raise SystemExit(f"haul ended with {weight.exit_code}")
    return weight.wall_s, weight.cpu_s


def row(
    name: str, files: int, size: int, pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]]
) -> dict[str, object]:
    """Return the median overheads, each with the interval that holds 95 % of medians of resampled pairs."""
    found: dict[str, object] = {"case": name, "files": files, "size_bytes": size, "pairs": len(pairs)}
    for at, what in enumerate(("wall", "cpu")):
        ratios = [on[at] / off[at] - 1 for off, on in pairs]
        middle, low, high = median_with_interval(ratios)
        found |= {
            f"{what}_s": round(statistics.median(off[at] for off, _ in pairs), 3),
            f"{what}_overhead": round(middle, 4),
            f"{what}_overhead_95": [round(low, 4), round(high, 4)],
        }
    return found


if __name__ == "__main__":
    main()
