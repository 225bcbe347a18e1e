"""`make demo`: the same climate files as in 2010 and with Haulage, over a long link; proven and explained."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from chart import draw
from collection import Collection, differing, find_collection
from ledger import read_ledger, read_throughput
from report import Act, save, show
from stage import DemoError, Haul, emulator
from verdict import Link, judge
from viewing import look

TARGET = Path("demo")
LINK = "wan"
#: How often Haulage copies: its figures are those of the median run. The 2010 way is slow and runs once.
RUNS = 5


@dataclass(frozen=True)
class Play:
    """The demo while its endpoint runs."""

    console: Console
    haul: Haul
    collection: Collection
    link: Link

    def act(self, name: str, way: str, *args: str | Path) -> Act:
        """Copy with a record and read from the record where the time went."""
        return self._acted(name, way, args, "", self.haul)

    def median_act(self, name: str, way: str, *args: str | Path) -> Act:
        """Copy several times, each time everything, and return the run in the middle."""
        again = (*args, "--overwrite", "always")
        acts = [self._acted(name, way, args, "-1", self.haul)]
        self.console.print(f"... and {RUNS - 1} times more, each time everything")
        for number in range(2, RUNS + 1):
            acts.append(self._acted(name, way, again, f"-{number}", self.haul.silently))
        walls = ", ".join(f"{act.wall_s:.1f}" for act in acts)
        median = sorted(acts, key=lambda act: act.wall_s)[RUNS // 2]
        self.console.print(f"took {walls} s: the median is {median.wall_s:.1f} s")
        return median

    def _acted(
        self, name: str, way: str, args: Sequence[str | Path], run: str, haul: Callable[..., float]
    ) -> Act:
        record = TARGET / f"{name.replace(',', '').replace(' ', '-').lower()}{run}.parquet"
        wall_s = haul("cp", *args, "--record", record)
        ledger = read_ledger(record)
        goodput = self.collection.size_bytes * 8 / wall_s
        return Act(
            name=name,
            way=way,
            command=shlex.join(["haul", "cp", *map(str, args)]),
            wall_s=wall_s,
            goodput_bits_per_second=goodput,
            link_share=goodput / self.link.total,
            ledger=ledger,
            throughput=read_throughput(record),
            verdict=judge(ledger, self.link),
            record=str(record),
        )

    def say(self, headline: str) -> None:
        """Print the headline of what comes next."""
        self.console.print()
        self.console.rule(f"[bold]{headline}[/]", align="left")

    def run(self) -> list[Act]:
        """Move the files as in 2010, with Haulage, and back; prove, explain and show it; return the acts."""
        source, back = TARGET / "climate", TARGET / "back"
        self.haul("mb", "az://demo")
        about = self.link.one_by_one_s(self.collection.files, self.collection.size_bytes)
        self.say(f"As in 2010: one file after another, one connection, one put each (about {about:.0f} s)")
        plain = ("--concurrency", "1", "--method", "whole")
        before = self.act("the 2010 way, up", "up", source, "az://demo/2010", *plain)
        self.say("With Haulage, nothing set")
        up = self.median_act("Haulage, up", "up", source, "az://demo/haulage")
        self.say("And back")
        down = self.median_act("Haulage, down", "down", "az://demo/haulage", back)
        self.say("Proof: every file read again and compared")
        self.haul("verify", source, "az://demo/2010")
        self.haul("verify", source, "az://demo/haulage")
        self.haul("verify", source, back)
        wrong = differing(source, back)
        if wrong:
            raise DemoError(f"{len(wrong)} files differ from their source, such as {wrong[0]}")
        files = f"{self.collection.files} of {self.collection.files} files"
        self.console.print(f"{files} came back equal, byte by byte, also as Python reads them")
        acts = [before, up, down]
        self.say("Why was it not faster? What the records say")
        for act in (before, up):
            self.haul("why", act.record, "--quiet")
        self.say("A look at what was moved, in the store, without downloading it")
        look(self.haul, self.console, "az://demo/haulage")
        return acts


def main() -> int:
    """Run the demo; return the exit code."""
    console = Console(soft_wrap=True, highlight=False)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        perform(console)
    except DemoError as error:
        console.print(f"[bold red]demo failed:[/] {escape(str(error))}")
        return 1
    except KeyboardInterrupt:
        console.print("\ninterrupted; `make demo` starts anew")
        return 130
    return 0


def perform(console: Console) -> None:
    """Prepare the folder, play, report."""
    collection = find_collection()
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    # A short name for what may lie deep in an environment, so that commands stay readable.
    (TARGET / "climate").symlink_to(collection.root.resolve())
    size = f"{collection.files} files, {collection.size_bytes / 2**20:.1f} MiB"
    console.print(f"{size}: {escape(collection.title)}")
    with emulator(LINK, console) as endpoint:
        console.print(f"an Azure Blob endpoint on this machine: {endpoint.terms}")
        play = Play(console, Haul(endpoint, console), collection, Link.parse(endpoint.terms))
        acts = play.run()
    show(console, acts)
    save(TARGET / "comparison.json", collection, endpoint.terms, play.link, acts)
    pictures = draw(acts, collection, play.link, TARGET / "comparison")
    console.print("\nWritten:")
    for path in [*pictures, TARGET / "comparison.json", *sorted(TARGET.glob("*.parquet"))]:
        console.print(f"  {escape(str(path))}")
    open_picture(pictures[0])


def open_picture(path: Path) -> None:
    """Show the chart where there is a screen; elsewhere its path was printed."""
    opener = shutil.which("xdg-open")
    if opener and sys.stdout.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        subprocess.Popen([opener, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
