"""Very many objects: is memory flat, and how quickly are those passed over that are there.

python benchmarks/many.py                        1,000,000 files up, and again; 10,000,000 names compared
python benchmarks/many.py --files 50000 --names 200000   a look
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fill import fill

HAUL = Path(sys.executable).parent / "haul"
FILE_BYTES = 4096
#: Files in a folder; all of one folder are one file with many names, whose number a file system bounds.
FOLDER = 1000


@contextmanager
def serving(link: str = "none", store: str = "null", more: Sequence[str] = ()) -> Iterator[dict[str, str]]:
    """Start an endpoint; unless it is told where to keep them it keeps names and drops bytes."""
    line = [
        str(HAUL),
        "emulate",
        "--listen",
        "127.0.0.1:0",
        "--store",
        store,
        "--json",
        "--link",
        link,
        *more,
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def watch(env: dict[str, str], *args: str) -> dict[str, Any]:
    """Run the command and return how it went and the memory it held, looked at ten times a second."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [str(HAUL), *args, "--progress", "none"], env=os.environ | env, stdout=out, stderr=subprocess.PIPE
        )
        held, began = [], time.monotonic()
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            held += [int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")]
            time.sleep(0.1)
        seconds = time.monotonic() - began
        said = process.stderr.read().decode() if process.stderr else ""
        if process.stderr:
            process.stderr.close()
    steady = held[len(held) // 10 :]
    return {
        "exit_code": process.returncode,
        "seconds": round(seconds, 2),
        "rss_max_mib": round(max(held)),
        "rss_min_after_tenth_mib": round(min(steady)),
        "rss_max_after_tenth_mib": round(max(steady)),
        "rss_ratio": round(max(steady) / min(steady), 2),
        "said": said.strip().splitlines()[-1:],
    }


def make_files(folder: Path, count: int) -> None:
    """Write a tree of ``count`` files in folders of a thousand."""
    for number in range(count):
        below = folder / f"folder-{number // FOLDER:05}"
        first = below / "file-0000"
        if number % FOLDER == 0:
            below.mkdir(parents=True)
            first.write_bytes(os.urandom(FILE_BYTES))
        else:
            (below / f"file-{number % FOLDER:04}").hardlink_to(first)


def files(count: int) -> Iterator[dict[str, Any]]:
    """Copy a tree of many small files up, and once more with nothing to do."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as name, serving() as service:
        make_files(Path(name) / "tree", count)
        env = {"AZURE_STORAGE_CONNECTION_STRING": service["connection_string"]}
        subprocess.run([HAUL, "mb", "az://many", "--quiet"], env=os.environ | env, check=True)
        for case in ("up", "again"):
            row = watch(env, "cp", f"{name}/tree", "az://many/")
            yield {"case": case, "objects": count, "objects_per_s": round(count / row["seconds"]), **row}


def names(count: int) -> Iterator[dict[str, Any]]:
    """Compare a prefix with itself by what the service says of it: every name is listed on both sides."""
    with serving() as service:
        env = {"AZURE_STORAGE_CONNECTION_STRING": service["connection_string"]}
        subprocess.run([HAUL, "mb", "az://many", "--quiet"], env=os.environ | env, check=True)
        unchanged = {"x-ms-meta-haulage_mtime_ns": "1"}
        fill(service["endpoint"], "many", service["sas"].lstrip("?"), "a/", count, unchanged)
        row = watch(env, "cp", "az://many/a/", "az://many/a/")
        yield {"case": "compare", "objects": count, "objects_per_s": round(count / row["seconds"]), **row}


def main() -> int:
    """Run what is asked for and print a row for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--names", type=int, default=10_000_000)
    wanted = parser.parse_args()
    for row in (
        *(files(wanted.files) if wanted.files else ()),
        *(names(wanted.names) if wanted.names else ()),
    ):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
