"""A second process that swaps a folder for a symbolic link, over and over: `trees_swap.py FOLDER LINK PAUSE`.

A line goes to standard output when it has begun; at the end of its input it puts the folder back and says how
often it has swapped.
"""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hostile.trees_ground import exchange


class Swapper:
    """Swaps until it is told to stop; `swaps` says how often it did."""

    def __init__(self, folder: Path, link: Path, pause_s: float) -> None:
        line = [sys.executable, "-m", "hostile.trees_swap", str(folder), str(link), str(pause_s)]
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"swapping\n"
        self.swaps = 0

    def stop(self) -> int:
        said, _ = self.process.communicate(timeout=10)
        self.swaps = int(said)
        return self.swaps


@contextmanager
def swapping(folder: Path, link: Path, pause_s: float = 0.0002) -> Iterator[Swapper]:
    """Swap `folder` with `link` by another process for a while; the folder is back at the end."""
    swapper = Swapper(folder, link, pause_s)
    try:
        yield swapper
    finally:
        if swapper.process.poll() is None:
            swapper.stop()


def main() -> None:
    folder, link, pause = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    print("swapping", flush=True)
    swaps = 0
    while not select.select([sys.stdin], [], [], pause)[0]:
        exchange(folder, link)
        swaps += 1
    if folder.is_symlink():
        exchange(folder, link)
    print(swaps)


if __name__ == "__main__":
    main()
