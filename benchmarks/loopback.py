"""What moving costs by itself: over loopback, against a store that discards bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import Rows, Task, Weight, arguments, random_file, random_files, scratch
from tools import Endpoint, Tool, endpoint, find

MIB = 1 << 20
#: rclone's default of 4 files at a time would measure its caution; the others choose by themselves.
SMALL = {"rclone": ("--transfers", "32", "--checkers", "32")}


@dataclass(frozen=True)
class Bench:
    """What every task is given."""

    tools: Mapping[str, Tool]
    rows: Rows
    rounds: int
    folder: Path  #: in memory
    divisor: int  #: 16 with --quick

    @property
    def haul(self) -> Tool:
        """The tool that also serves the endpoint."""
        return self.tools["haul"]

    def alternate(self, task: Task, arm: Callable[[Tool, int], Weight]) -> None:
        """Give every tool the same work, in turn."""

        def bound(tool: Tool) -> Callable[[int], Weight]:
            return lambda number: arm(tool, number)

        self.rows.alternate(task, {name: bound(tool) for name, tool in self.tools.items()}, self.rounds)


def one_up(bench: Bench) -> None:
    """Upload one file of 1 GiB. haul sends a CRC64 with every block, rclone an MD5, AzCopy nothing."""
    size = 1024 * MIB // bench.divisor
    source = random_file(bench.folder / "one", size)
    with endpoint(bench.haul, bench.folder, "--store", "null") as at:
        task = Task(f"up 1 x {size // MIB} MiB", size, 1)
        bench.alternate(task, lambda tool, number: tool.up(at, source, f"{tool.name}-{number}"))
    source.unlink()


def one_down(bench: Bench) -> None:
    """Download one blob of 4 GiB into memory. It has no checksum: haul checks each range, others nothing."""
    with endpoint(bench.haul, bench.folder, "--store", "null") as at:
        size = 4096 * MIB // bench.divisor
        sparse = bench.folder / "sparse"
        with sparse.open("wb") as file:
            file.truncate(size)
        _must(bench.haul.up(at, sparse, "one"))
        sparse.unlink()
        _down(bench, at, f"down 1 x {size // MIB} MiB", size)


def checked_down(bench: Bench) -> None:
    """Download one blob of 2 GiB that has an MD5, which rclone and AzCopy then compare."""
    with endpoint(bench.haul, bench.folder, "--store", "memory") as at:
        size = 2048 * MIB // bench.divisor
        source = random_file(bench.folder / "one", size)
        _must(bench.haul.up(at, source, "one", "--content-md5"))
        source.unlink()
        _down(bench, at, f"down 1 x {size // MIB} MiB, MD5", size)


def small(bench: Bench) -> None:
    """Upload and download 10,000 files of 4 KiB."""
    count, size = 10_000 // bench.divisor, 4096
    source = random_files(bench.folder / "small", count, size)
    with endpoint(bench.haul, bench.folder, "--store", "null") as at:

        def up(tool: Tool, number: int) -> Weight:
            return tool.up(at, source, f"{tool.name}-{number}", *SMALL.get(tool.name, ()), many=True)

        def down(tool: Tool, _: int) -> Weight:
            return tool.down(at, "haul-0", bench.folder / "back", *SMALL.get(tool.name, ()), many=True)

        bench.alternate(Task(f"up {count:,} x 4 KiB", count * size, count), up)
        bench.alternate(Task(f"down {count:,} x 4 KiB", count * size, count), down)


def names(bench: Bench) -> None:
    """List 100,000 names."""
    count = 100_000 // bench.divisor
    source = random_files(bench.folder / "names", count, 0)
    with endpoint(bench.haul, bench.folder, "--store", "null") as at:
        _must(bench.haul.up(at, source, "names/", many=True))
        bench.alternate(Task(f"list {count:,}", 0, count), lambda tool, _: tool.names(at, "names/"))


def _down(bench: Bench, at: Endpoint, title: str, size: int) -> None:
    target = bench.folder / "back"
    bench.alternate(Task(title, size, 1), lambda tool, _: tool.down(at, "one", target))


def _must(weight: Weight) -> None:
    assert weight.exit_code == 0, "the preparation failed"


TASKS = {task.__name__: task for task in (one_up, one_down, checked_down, small, names)}


def main() -> None:
    """Run what was asked for."""
    given = arguments(__doc__ or "", list(TASKS), rounds=5)
    tools = find(given.tools)
    rows = Rows("loopback", {name: tool.version() for name, tool in tools.items()})
    for name in given.only or TASKS:
        with scratch((5 << 30) // given.divisor) as folder:
            TASKS[name](Bench(tools, rows, given.rounds, folder, given.divisor))
    print(f"table: python benchmarks/table.py benchmarks/results/{rows.path.name}")


if __name__ == "__main__":
    main()
