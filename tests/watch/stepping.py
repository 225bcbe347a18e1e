"""Watches in the time of the test: a look is half a second after the one before, and nothing sleeps."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haulage.watch.following import LOOK_S, Heard, Looked, Source
from haulage.watch.line import Line
from haulage.watch.reading import opened
from haulage.watch.state import Message
from haulage.watch.watching import Watching
from watch.writing import SECOND, InFolder


class Clock:
    """Nanoseconds since 1970, which pass when the test says so."""

    def __init__(self) -> None:
        # Stores have a clock of their own.
        self.now_ns = time.time_ns()

    def __call__(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / SECOND

    def skip(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND)

    def stamp(self, *files: Path, ago: float = 0) -> None:
        """Have files be written to now, or so many seconds ago."""
        at_ns = self.now_ns - round(ago * SECOND)
        for file in files:
            os.utime(file, ns=(at_ns, at_ns))


class InFolderAt:
    """Keeps lines in a folder whose files were written to at the time of a clock."""

    def __init__(self, folder: InFolder, clock: Clock) -> None:
        self._folder, self._clock = folder, clock

    def __call__(self, stream: str, data: bytes) -> None:
        self._folder(stream, data)
        self._clock.stamp(*(self._folder.root / stream).iterdir())


class _EnoughError(Exception):
    pass


class _Stepped:
    """Reads as a follower does, in the thread that asks."""

    def __init__(self, source: Source, clock: Clock, between: Callable[[], object], until_ns: int) -> None:
        self._source, self._clock, self._between, self._until_ns = source, clock, between, until_ns
        self._heard: deque[Heard] = deque()
        self._looks = 0

    def get(self, wait_s: float) -> Heard | None:  # noqa: ARG002  it never waits
        if not self._heard:
            if self._looks:
                self._clock.skip(LOOK_S)
                if self._clock() > self._until_ns:
                    raise _EnoughError
                self._between()
            self._looks += 1
            at_ns = self._clock()
            self._heard.extend(self._source.read())
            self._heard.append(Looked(at_ns, self._source.ended))
        return self._heard.popleft()


@dataclass
class Watched:
    """What was shown, said and kept."""

    clock: Clock
    code: int | None = None
    shown: dict[str, Any] = field(default_factory=dict)
    said: list[tuple[int, Message]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @property
    def health(self) -> dict[str, int]:
        """How many streams are of each health; each that is silent is in the rows."""
        health: dict[str, int] = dict(self.shown["health"])
        assert self.events("silent") == health.get("silent", 0)
        return health

    def events(self, kind: str) -> int:
        return sum(line.event == kind for line in self.lines)

    def say(self, message: Message) -> None:
        self.said.append((self.clock(), message))

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:  # noqa: ARG002  the last one stays
        self.shown = shown

    def add(self, lines: list[Line]) -> None:
        self.lines += lines

    def close(self) -> None:
        pass


def watched(
    source: str | Path,
    clock: Clock,
    between: Callable[[], object] = lambda: None,
    *,
    once: bool = True,
    seconds: float = 60,
) -> Watched:
    """Watch until it ends, or for so long; ``between`` two looks others write."""
    found = Watched(clock)
    log = opened(str(source), clock)
    try:
        stepped = _Stepped(log, clock, between, clock() + round(seconds * SECOND))
        watching = Watching(stepped, str(source), clock, clock.monotonic, [found], [found], once=once)
        try:
            found.code = watching.run()
        except _EnoughError:
            assert not once, "it did not end"
    finally:
        log.close()
    return found
