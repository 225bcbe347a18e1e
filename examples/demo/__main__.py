"""`make demo`: the same climate files as in 2010 and with Haulage, over the same long link, proven."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
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

TARGET = Path("demo")
LINK = "wan"


@dataclass(frozen=True)
class Play:
    """The demo while its endpoint runs."""

    console: Console
    haul: Haul
    collection: Collection
    link: Link

    def act(self, name: str, way: str, *args: str | Path) -> Act:
        """Copy with a record and read from the record where the time went."""
        record = TARGET / f"{name.replace(',', '').replace(' ', '-').lower()}.parquet"
        wall_s = self.haul("cp", *args, "--record", record)
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
        )

    def say(self, headline: str) -> None:
        """Print the headline of what comes next."""
        self.console.print()
        self.console.rule(f"[bold]{headline}[/]", align="left")

    def run(self) -> list[Act]:
        """Move the files as in 2010, with Haulage, and back; prove each; return the acts."""
        source, back = TARGET / "climate", TARGET / "back"
        self.haul("mb", "az://demo")
        about = self.link.one_by_one_s(self.collection.files, self.collection.size_bytes)
        self.say(f"As in 2010: one file after another, one connection, one put each (about {about:.0f} s)")
        plain = ("--concurrency", "1", "--method", "whole")
        before = self.act("the 2010 way, up", "up", source, "az://demo/2010", *plain)
        self.say("With Haulage, nothing set")
        up = self.act("Haulage, up", "up", source, "az://demo/haulage")
        self.say("And back")
        down = self.act("Haulage, down", "down", "az://demo/haulage", back)
        self.say("Proof: every file read again and compared")
        self.haul("verify", source, "az://demo/2010")
        self.haul("verify", source, "az://demo/haulage")
        self.haul("verify", source, back)
        wrong = differing(source, back)
        if wrong:
            raise DemoError(f"{len(wrong)} files differ from their source, such as {wrong[0]}")
        files = f"{self.collection.files} of {self.collection.files} files"
        self.console.print(f"{files} came back equal, byte by byte, also as Python reads them")
        return [before, up, down]


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
