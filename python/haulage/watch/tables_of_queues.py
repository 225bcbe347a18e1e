"""What the terminal shows of queues and schedulers."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from haulage.words.numbers import format_count, format_duration
from haulage.words.printable import printable


def away(shown: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a line for each thing beside the log that cannot be read: its beginning, and the cause."""
    return [
        (
            f"{printable(one['name'])} has been unavailable for {format_duration(one['for_ns'])}: ",
            printable(one["cause"]),
        )
        for one in shown["beside_away"]
    ]


def of_tasks(tasks: dict[str, int]) -> str:
    """Return what schedulers have to do, in one line."""
    parts = [f"{format_count(tasks[name])} {name}" for name in ("running", "waiting", "done")]
    if tasks["failed"]:
        parts.append(f"{format_count(tasks['failed'])} failed")
    return f"tasks: {', '.join(parts)}"


def trend(queue: dict[str, Any]) -> str:
    """Return how the length of a queue changes."""
    slope = queue["messages_per_second"]
    if slope is None:
        return ""
    if abs(slope) < 0.05:
        return "steady"
    return f"{slope:+.1f}/s" if abs(slope) < 100 else f"{slope:+,.0f}/s"


def left(queue: dict[str, Any]) -> str:
    """Return how long it takes until a queue is empty, where that can be told."""
    eta_ns = queue["eta_ns"]
    return "" if eta_ns is None else "empty" if eta_ns == 0 else format_duration(eta_ns)


def queue_cells(queue: dict[str, Any]) -> list[Text | str]:
    """Return the cells of a queue's row."""
    ago_ns = queue["counted_ago_ns"]
    ago = f"{format_duration(ago_ns)} ago" if ago_ns >= 5 * 10**9 else "now"
    said = f"{ago}  {printable(queue['said'])}" if queue["said"] else ago
    return [
        Text(printable(queue["name"])),
        format_count(queue["messages"]),
        trend(queue),
        left(queue),
        Text(said),
    ]
