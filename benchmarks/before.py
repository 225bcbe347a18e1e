"""Is it still as quick: another build of the command against this one, in pairs of random order.

python benchmarks/before.py /path/to/former/haul              9 pairs of each case, about five minutes
python benchmarks/before.py /path/to/former/haul --pairs 3    a look

Files lie in memory, so that no disk is measured; with --on FOLDER they lie there instead, and downloads are
flushed to its disk by a build that flushes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fill import fill
from harness import Weight, median_with_interval, orders, random_files, weigh
from many import HAUL, serving

MIB = 1 << 20
#: Files, and the bytes of each.
FOLDERS = {"one": (1, 1024 * MIB), "small": (10_000, 4096)}
NAMES = 1_000_000
#: Name of the case, and what is run: `{one}` and `{small}` are folders, `{down}` is a new one each time.
CASES = {
    "1 GiB up": ("cp", "{one}", "az://before/one/", "--overwrite", "always"),
    "1 GiB down": ("cp", "az://before/one/", "{down}"),
    "10,000 files of 4 KiB up": ("cp", "{small}", "az://before/small/", "--overwrite", "always"),
    "10,000 files of 4 KiB down": ("cp", "az://before/small/", "{down}"),
    "1,000,000 names listed": ("ls", "-r", "az://names/"),
}


def main() -> None:
    """Print a line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("former", type=Path, help="the command of another build")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--on", type=Path, default=Path("/dev/shm"), help="where files lie")
    args = parser.parse_args()
    arms = {"former": args.former, "this": HAUL}
    with tempfile.TemporaryDirectory(dir=args.on) as scratch, serving(store="memory") as service:
        run_all(service, Path(scratch), arms, args.pairs)


def run_all(service: Mapping[str, str], scratch: Path, arms: Mapping[str, Path], pairs: int) -> None:
    """Fill the service and a folder, then run all cases."""
    env = {"AZURE_STORAGE_CONNECTION_STRING": service["connection_string"]}
    for container in ("before", "names"):
        subprocess.run([HAUL, "mb", "--quiet", f"az://{container}"], env=os.environ | env, check=True)
    fill(service["endpoint"], "names", service["sas"].lstrip("?"), "a/", NAMES, {})
    folders = {name: random_files(scratch / name, *what) for name, what in FOLDERS.items()}
    places = {name: f"{folder}/" for name, folder in folders.items()} | {"down": str(scratch / "down")}
    for case, words in CASES.items():
        line = [word.format(**places) for word in words]
        seen: dict[str, list[Weight]] = {name: [] for name in arms}
        # The first round warms up.
        for number, _, arm in orders(case, list(arms), pairs + 1):
            shutil.rmtree(places["down"], ignore_errors=True)
            weight = weigh([arms[arm], *line, "--quiet", "--progress", "none"], env)
            if weight.exit_code != 0:
                raise SystemExit(f"{case}: {arm} ended with {weight.exit_code}")
            if number:
                seen[arm].append(weight)
        print(
            json.dumps({"case": case, "pairs": pairs, **compared(seen["former"], seen["this"])}), flush=True
        )


def compared(former: Sequence[Weight], this: Sequence[Weight]) -> dict[str, object]:
    """Return medians of both, and how this differs from the former with its interval of 95 %."""
    row: dict[str, object] = {}
    for what in ("wall_s", "cpu_s"):
        before, after = ([getattr(weight, what) for weight in arm] for arm in (former, this))
        middle, low, high = median_with_interval([b / a - 1 for a, b in zip(before, after, strict=True)])
        row |= {
            f"former_{what}": round(statistics.median(before), 3),
            f"this_{what}": round(statistics.median(after), 3),
            f"{what.removesuffix('_s')}_change": round(middle, 3),
            f"{what.removesuffix('_s')}_change_95": [round(low, 3), round(high, 3)],
        }
    return row | {"this_max_rss_mib": round(max(weight.max_rss_mib for weight in this))}


if __name__ == "__main__":
    main()
