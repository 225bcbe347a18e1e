"""How well a long, thin-threaded link is used: 60 ms, 20 Mbit/s a connection, 1 Gbit/s in all."""

from __future__ import annotations

from harness import Rows, Task, arguments, random_file, random_files, scratch
from loopback import MIB, Bench
from tools import Endpoint, endpoint, find

LINK = "wan"


def one_up(bench: Bench, at: Endpoint) -> None:
    """Upload one file of 1 GiB; at 1 Gbit/s its payload takes 8.6 s."""
    size = 1024 * MIB // bench.divisor
    source = random_file(bench.folder / "one", size)
    task = Task(f"wan up 1 x {size // MIB} MiB", size, 1)
    bench.alternate(task, lambda tool, number: tool.up(at, source, f"{tool.name}-{number}"))
    source.unlink()


def fifty(bench: Bench, at: Endpoint) -> None:
    """Upload and download 50 files of 20 MiB; at 1 Gbit/s their payload takes 8.4 s."""
    count, size = max(4, 50 // bench.divisor), 20 * MIB
    source, target = random_files(bench.folder / "fifty", count, size), bench.folder / "back"
    up = Task(f"wan up {count} x 20 MiB", count * size, count)
    bench.alternate(up, lambda tool, number: tool.up(at, source, f"fifty-{tool.name}-{number}", many=True))
    down = Task(f"wan down {count} x 20 MiB", count * size, count)
    bench.alternate(down, lambda tool, _: tool.down(at, "fifty-haul-0", target, many=True))


TASKS = {task.__name__: task for task in (one_up, fifty)}


def main() -> None:
    """Run what was asked for."""
    given = arguments(__doc__ or "", list(TASKS), rounds=3)
    tools = find(given.tools)
    rows = Rows("wan", {name: tool.version() for name, tool in tools.items()})
    for name in given.only or TASKS:
        with (
            scratch((2 << 30) // given.divisor) as folder,
            endpoint(tools["haul"], folder, "--store", "null", "--link", LINK) as at,
        ):
            TASKS[name](Bench(tools, rows, given.rounds, folder, given.divisor), at)
    print(f"table: python benchmarks/table.py benchmarks/results/{rows.path.name}")


if __name__ == "__main__":
    main()
