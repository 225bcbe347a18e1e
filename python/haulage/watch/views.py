"""Ways of showing what is known on standard output: a screen that is drawn anew, plain lines, or JSON."""

from __future__ import annotations

import json
import time
from typing import Any

from rich.console import Console
from rich.live import Live

from haulage.watch import tables, words
from haulage.watch.state import Message
from haulage.words.numbers import format_count
from haulage.words.printable import printable

#: Where the output is no terminal: how often the totals are said, and how many messages between two of these.
PLAIN_S = 10.0
MESSAGES = 50
#: Columns where the output is no terminal.
WIDTH = 120


def _print(console: Console, shown: dict[str, Any]) -> None:
    """Print all of it; where it is no terminal, without blanks that fill the lines."""
    if console.is_terminal:
        console.print(tables.whole(shown))
        return
    with console.capture() as printed:
        console.print(tables.whole(shown))
    console.out("\n".join(line.rstrip() for line in printed.get().splitlines()), highlight=False)


class Screen:
    """A screen that is drawn anew; what was there before comes back at the end, with the summary below it."""

    def __init__(self, console: Console, hint: str) -> None:
        self._console, self._hint = console, hint
        self._live = Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop")
        self._live.start()
        self._shown: dict[str, Any] | None = None

    def say(self, message: Message) -> None:
        """Leave it to the tables."""

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Show all of it."""
        self._shown = shown
        if not last:
            picture = tables.screen(shown, self._console.height, hint=self._hint)
            self._live.update(picture, refresh=True)

    def close(self) -> None:
        """Leave the screen, and print what was on it last."""
        self._live.stop()
        if self._shown is not None:
            _print(self._console, self._shown)


class Summary:
    """Nothing until the end, then all of it."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, message: Message) -> None:
        """Leave it to the tables."""

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Print all of it at the end."""
        if last:
            _print(self._console, shown)

    def close(self) -> None:
        """Nothing is left to be done."""


class Quiet:
    """Nothing but that not all is seen, which the rows alone would not show to whoever reads them."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, message: Message) -> None:
        """Print it, where it is that."""
        if message.event == "unseen":
            self._console.print(printable(f"haul: {message.object}: {message.text}"))

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing is left to be done."""


class Plain:
    """Lines: each message as it comes, and the totals now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said = 0
        self._last = time.monotonic() - PLAIN_S + 1
        self._away = ""

    def say(self, message: Message) -> None:
        """Print it, unless there are too many."""
        if message.level in ("INFO", "DEBUG"):
            return
        self._said += 1
        if self._said <= MESSAGES:
            parts = [message.object, message.text]
            said = ": ".join(printable(part) for part in parts if part)
            self._print(words.clock(message.time_unix_ns), message.node, message.level, said)
            if message.traceback:
                self._console.print(words.block(message.traceback))

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Print the totals, where it is time to."""
        away = shown["away"]["cause"] if shown["away"] else ""
        if away != self._away:
            self._print(f"cannot be read: {away}" if away else "can be read again")
            self._away = away
        if last:
            self._left_out()
            _print(self._console, shown)
        elif time.monotonic() - self._last >= PLAIN_S:
            self._last = time.monotonic()
            self._left_out()
            self._print(words.clock(shown["time_unix_ns"]), tables.totals(shown))

    def close(self) -> None:
        """Nothing is left to be done."""

    def _left_out(self) -> None:
        if self._said > MESSAGES:
            self._print(f"and {format_count(self._said - MESSAGES)} more; --csv FILE keeps all of them")
        self._said = 0

    def _print(self, *parts: str) -> None:
        self._console.print("  ".join(printable(part) for part in parts), soft_wrap=True)


class JsonLines:
    """All of it as a line of JSON, once a second, or once."""

    def __init__(self, console: Console, *, once: bool) -> None:
        self._console, self._once = console, once

    def say(self, message: Message) -> None:
        """Leave it to the next line."""

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Print it."""
        if last or not self._once:
            self._console.out(json.dumps(shown), highlight=False)

    def close(self) -> None:
        """Nothing is left to be done."""
