"""Draws an explanation for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from haulage.lab.why.experiment import experiment, unknown
from haulage.lab.why.explaining import Explanation, Part
from haulage.lab.why.plain import shown
from haulage.lab.why.words import paragraph, title, when
from haulage.words.numbers import format_rate, percent, round_size, time_words

#: What the categories of the ledger are, for who has not read of it.
MEANS = {
    "send": "bytes on their way up",
    "server wait": "waiting for the first byte of an answer",
    "receive": "bytes on their way down",
    "commit": "waiting for the answer to a commit, or to a whole file",
    "connect": "making connections",
    "disk": "reading or writing files",
    "source": "reading from the service that has the source",
    "hash": "computing checksums (an estimate)",
    "pacing": "held back by a cap",
    "throttled": "refused requests, and the pauses after them",
    "ordering": "putting pieces in order",
    "no work": "slots before the first request and after the last was begun",
    "idle": "slots without a request: fewer were allowed than at most, or none was ready",
}
_STYLES = {"no work": "bright_black", "idle": "bright_black", "throttled": "red"}
_BAR = 28
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show(found: Explanation, console: Console) -> None:
    """Print it."""
    console.print(Text(title(found.whole, found.phases), style="bold"))
    console.print()
    for sentence in paragraph(found):
        console.print(Text(sentence))
    settle = experiment(found)
    if settle is not None:
        console.print()
        console.print(Text("To settle it: ", style="bold").append(Text(settle.command, style="bold cyan")))
        console.print(Padding(Text(settle.outcome), (0, 0, 0, 2)))
    for part, name in parts(found):
        if sum(part.ledger.values()):
            _ledger(console, part, name)
    if sum(found.whole.ledger.values()) and len(found.rates):
        console.print()
        console.print(Text("Rate over the job", style="bold"))
        rates = [float(row["rate_bits_per_second"]) for row in found.rates]
        console.print(Text("  " + sparks(rates)))
        most = format_rate(max(rates))
        console.print(
            Text(f"  0 to {time_words(found.facts.wall_ns)}; the highest bar is {most}", style="bright_black")
        )
    if found.signs:
        console.print()
        console.print(Text("What the kernel counted", style="bold"))
        for sign in found.signs:
            console.print(Padding(Text(f"- {sign.said}"), (0, 0, 0, 2)))
    for heading, head, rows in tables(found):
        _table(console, heading, head, rows)
    cannot = unknown(found)
    if cannot:
        console.print()
        console.print(Text("What this record cannot tell", style="bold"))
        for one in cannot:
            console.print(Padding(Text(f"- {one}"), (0, 0, 0, 2)))


def parts(found: Explanation) -> Iterator[tuple[Part, str]]:
    """Yield the job, and its phases if there are some, each with a heading."""
    yield found.whole, "Where the time went"
    for number, part in enumerate(found.phases, 1):
        began, ended = when(part.window.began_ns), when(part.window.ended_ns)
        yield part, f"Phase {number}, {began} to {ended}, {format_rate(part.evidence.rate_bits_per_second)}"


def _ledger(console: Console, part: Part, name: str) -> None:
    whole = sum(part.ledger.values())
    console.print()
    head = Text(name, style="bold")
    head.append(
        f"  {part.evidence.lanes} slots x {time_words(part.window.wall_ns)}, split exactly",
        style="bright_black",
    )
    console.print(head)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for column in (
        {},
        {"justify": "right"},
        {"justify": "right"},
        {"no_wrap": True},
        {"style": "bright_black"},
    ):
        table.add_column(**column)
    for category, ns in sorted(part.ledger.items(), key=lambda item: -item[1]):
        if ns:
            style = _STYLES.get(category, "cyan")
            table.add_row(
                f"  {category}",
                percent(ns / whole),
                time_words(ns),
                Text(bar(ns / whole), style),
                MEANS[category],
            )
    console.print(table)


def bar(share: float, width: int = _BAR) -> str:
    """Return a bar of eighths of a character."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def sparks(values: Sequence[float], width: int = 50) -> str:
    """Return a line of bars, each the mean of its values over the greatest of all."""
    most = max(values, default=0.0)
    step = max(1, len(values) // width)
    means = [sum(values[at : at + step]) / len(values[at : at + step]) for at in range(0, len(values), step)]
    return "".join("▁▂▃▄▅▆▇█"[min(7, int(8 * mean / most))] if most else "▁" for mean in means)


def tables(found: Explanation) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield the tables: a heading, the names of columns, rows as text."""
    if len(found.lost):
        yield (
            "Refused, failed and cancelled requests",
            [
                "ended",
                "status",
                "cause",
                "requests",
                "payload",
                "time in slots",
                "pauses after",
                "told to wait",
            ],
            [_lost(row) for row in found.lost],
        )
    if len(found.objects) > 1:
        yield (
            "Slowest objects",
            ["took", "size", "requests", "object"],
            [
                [
                    time_words(row["took_ns"]),
                    _size(row["bytes"]),
                    f"{row['attempts']:,}",
                    shown(str(row["object"])),
                ]
                for row in found.objects[:5]
            ],
        )
    if len(found.slowest) > 1:
        yield (
            "Slowest requests",
            ["took", "size", "at", "request", "try", "ended", "object"],
            [
                [
                    time_words(row["took_ns"]),
                    _size(row["size_bytes"]),
                    time_words(row["slot_ns"]),
                    shown(str(row["api"]), 24),
                    f"{row['attempt']:.0f}",
                    shown(str(row["fate"]), 16),
                    shown(str(row["object"]), 60),
                ]
                for row in found.slowest[:5]
            ],
        )


def _lost(row: dict[str, Any]) -> list[str]:
    status = "" if row["status"] is None else f"{row['status']:.0f}"
    cause = "" if row["cause"] is None else shown(str(row["cause"]), 60)
    return [
        shown(str(row["fate"]), 16),
        status,
        cause,
        f"{row['attempts']:,}",
        _size(row["bytes"]),
        time_words(row["lost_ns"]),
        time_words(row["waited_ns"]),
        "" if row["longest_retry_after_ns"] is None else time_words(row["longest_retry_after_ns"]),
    ]


def _size(value: Any) -> str:
    return "" if value is None else round_size(float(value))


def _table(console: Console, heading: str, head: list[str], rows: list[list[str]]) -> None:
    console.print()
    console.print(Text(heading, style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bright_black")
    for place, name in enumerate(head):
        table.add_column(Text(("  " if place == 0 else "") + name), overflow="fold")
    for row in rows:
        table.add_row(*[Text(("  " if place == 0 else "") + cell) for place, cell in enumerate(row)])
    console.print(table)
